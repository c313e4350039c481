"""Bounds, choices and spellings by class and field of the grammar: the tables that rules and JSON Schema share."""

from collections.abc import Mapping
from typing import TypeVar

from attrs import frozen

from sindplan.model.declaration import (
    Cluster,
    Database,
    Declaration,
    Group,
    Mesh,
    NodeOptions,
    Partition,
    Realm,
    SecretReference,
    User,
    WorkerGroup,
)
from sindplan.model.people import FIRST_ID, NEVER_ASSIGNED
from sindplan.statefile.spellings import (
    ACCOUNT,
    FEATURE,
    GRES,
    GROUP,
    IMAGE,
    LABEL,
    OWNER,
    PARAMETER,
    PARTITION,
    PASSWORD,
    PERSON,
    SECRET_VARIABLE,
    TIME,
    VALUE,
    Spelling,
)

LARGEST_WORKER = 65000
"""Highest worker index, and most workers of a cluster; Slurm itself ends at 65536 nodes."""

Place = tuple[type, str]
"""A class of the grammar and one of its fields."""

T = TypeVar("T")


@frozen
class Range:
    """The whole numbers from `low` to `high`, both included, but not those of `never`."""

    low: int
    high: int
    never: tuple[int, ...] = ()

    def holds(self, number: int) -> bool:
        """Say whether a number is one of them."""
        return self.low <= number <= self.high and number not in self.never

    @property
    def rule(self) -> str:
        """The same for people, as a full sentence."""
        but = f", but not {' or '.join(map(str, self.never))}" if self.never else ""
        return f"Write a whole number from {self.low} to {self.high}{but}."


@frozen
class Choice:
    """A few words, one of which something is, and what such a word is called."""

    noun: str
    words: tuple[str, ...]


def at(table: Mapping[Place, T], owner: type, field: str) -> T | None:
    """Return the entry for a field, which may be written under the class that the field is inherited from."""
    return next((table[base, field] for base in owner.__mro__ if (base, field) in table), None)


SPELLINGS: Mapping[Place, Spelling] = {
    (Declaration, "name"): OWNER,
    (Mesh, "dns_image"): IMAGE,
    (Mesh, "relay_image"): IMAGE,
    (Cluster, "image"): IMAGE,
    (NodeOptions, "image"): IMAGE,
    (WorkerGroup, "gres"): GRES,
    (Partition, "max_time"): TIME,
    (Database, "storage_password"): PASSWORD,
    (SecretReference, "env"): SECRET_VARIABLE,
}

ITEMS: Mapping[Place, Spelling] = {
    (WorkerGroup, "features"): FEATURE,
    (Partition, "options"): VALUE,
}
"""How each item of an array, or each value of a table by name, must look."""

CAPABILITIES = (
    *("ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN"),
    *("DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE"),
    *("LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST"),
    *("NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT"),
    *("SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME"),
    *("SYS_TTY_CONFIG", "WAKE_ALARM"),
)
"""Linux's capabilities (linux/capability.h) as Docker names them, and its word for all of them."""

CHOICES: Mapping[Place, Choice] = {
    (NodeOptions, "cap_add"): Choice("Capability", CAPABILITIES),
    (NodeOptions, "cap_drop"): Choice("Capability", CAPABILITIES),
}
"""What each item of an array can be."""

NAMES: Mapping[Place, Spelling] = {
    (Declaration, "realms"): LABEL,
    (Realm, "clusters"): LABEL,
    (Cluster, "workers"): GROUP,
    (Cluster, "partitions"): PARTITION,
    (Cluster, "users"): PERSON,
    (Cluster, "groups"): PERSON,
    (Cluster, "accounts"): ACCOUNT,
    (Partition, "options"): PARAMETER,
}

_IDS = Range(FIRST_ID, 2**31 - 1, tuple(sorted(NEVER_ASSIGNED)))

RANGES: Mapping[Place, Range] = {
    (NodeOptions, "cpus"): Range(1, 65000),
    (WorkerGroup, "count"): Range(0, LARGEST_WORKER),
    (WorkerGroup, "weight"): Range(0, 2**32 - 1),
    (WorkerGroup, "max_unavailable"): Range(1, LARGEST_WORKER),
    (Cluster, "max_unavailable"): Range(1, LARGEST_WORKER),
    (User, "uid"): _IDS,
    (Group, "gid"): _IDS,
}
