"""Bounds and spellings that the rules and the JSON Schema share, by class and field of the grammar."""

import re
from collections.abc import Mapping
from typing import TypeVar

from attrs import frozen

from sindplan.model.declaration import Cluster, Declaration, Group, Mesh, NodeOptions, Realm, User, WorkerGroup

LARGEST_WORKER = 65000
"""Highest worker index, and most workers of a cluster; Slurm itself ends at 65536 nodes."""

Place = tuple[type, str]
"""A class of the grammar and one of its fields."""

T = TypeVar("T")


@frozen
class Range:
    """The whole numbers from `low` to `high`, both included."""

    low: int
    high: int


@frozen
class Spelling:
    """How a string must look.

    Attributes:
        pattern: A regular expression for the whole string, in the part of the language that JSON Schema shares.
        rule: The same for people, as a full sentence.
        noun: What such a string is.
        longest: Most characters, where the pattern does not say.
    """

    pattern: str
    rule: str
    noun: str = "a name"
    longest: int | None = None

    def fits(self, text: str) -> bool:
        """Say whether a text is spelled so."""
        is_short = self.longest is None or len(text) <= self.longest
        return is_short and re.fullmatch(self.pattern, text) is not None


def at(table: Mapping[Place, T], owner: type, field: str) -> T | None:
    """Return the entry for a field, which may be written under the class that the field is inherited from."""
    return next((table[base, field] for base in owner.__mro__ if (base, field) in table), None)


_LABEL = Spelling(
    "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?",
    "A name of a realm or cluster is 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end.",
)
_GROUP = Spelling("[a-z][a-z0-9-]{0,62}", "A group's name is 1 to 63 of a-z, 0-9 and hyphens, beginning with a letter.")
_PARTITION = Spelling(_GROUP.pattern, _GROUP.rule.replace("group", "partition"))
_PERSON = Spelling(
    "[a-z_][a-z0-9_-]{0,31}",
    "A name of a user or group is 1 to 32 of a-z, 0-9, underscores and hyphens, beginning with a letter or underscore.",
)
_ACCOUNT = Spelling(
    "[a-z0-9_][a-z0-9_-]{0,63}",
    "An account's name is 1 to 64 of a-z, 0-9, underscores and hyphens, beginning with no hyphen.",
)

_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
IMAGE = Spelling(
    # github.com/distribution/reference, written out: host and port, path, tag, digest.
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?"
    r"(?:@[a-zA-Z][a-zA-Z0-9]*(?:[+._-][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,})?",
    'An image is written as Docker does: "name:tag", "registry:5000/path/name:tag" or "name@sha256:…", in lower case.',
    noun="an image reference",
    # More than any reference that Docker takes: a name of 255, a tag of 128, a digest.
    longest=512,
)

MEMORY = Spelling(
    "[0-9]+(?:\\.[0-9]+)? ?(?:[kmgtpKMGTP][iI]?[bB]?|[bB])?",
    'A size is a number and a unit, such as "512m", "1.5g" or "2GiB".',
)
TMP_SIZE = Spelling("[0-9]+[kmgtpeKMGTPE%]?", 'Write digits and k, m, g, t or %, such as "256m" or "10%".')
DURATION = Spelling(
    "(?:[0-9]+h(?:[0-9]+m)?(?:[0-9]+s)?|[0-9]+m(?:[0-9]+s)?|[0-9]+s)",
    'A duration is hours, minutes and seconds, such as "90s", "10m" or "1h30m".',
)
UNIT_MAX = 64
"""Characters of a size or duration: longer ones are no number that anybody means."""

SPELLINGS: Mapping[Place, Spelling] = {
    (Declaration, "name"): Spelling(
        "[a-z0-9][a-z0-9-]{0,62}", "The name is 1 to 63 of a-z, 0-9 and hyphens, beginning with no hyphen."
    ),
    (Mesh, "dns_image"): IMAGE,
    (Mesh, "relay_image"): IMAGE,
    (Cluster, "image"): IMAGE,
    (NodeOptions, "image"): IMAGE,
}

NAMES: Mapping[Place, Spelling] = {
    (Declaration, "realms"): _LABEL,
    (Realm, "clusters"): _LABEL,
    (Cluster, "workers"): _GROUP,
    (Cluster, "partitions"): _PARTITION,
    (Cluster, "users"): _PERSON,
    (Cluster, "groups"): _PERSON,
    (Cluster, "accounts"): _ACCOUNT,
}

_IDS = Range(1000, 2**31 - 1)

RANGES: Mapping[Place, Range] = {
    (NodeOptions, "cpus"): Range(1, 65000),
    (WorkerGroup, "count"): Range(0, LARGEST_WORKER),
    (WorkerGroup, "weight"): Range(0, 2**32 - 1),
    (WorkerGroup, "max_unavailable"): Range(1, LARGEST_WORKER),
    (Cluster, "max_unavailable"): Range(1, LARGEST_WORKER),
    (User, "uid"): _IDS,
    (Group, "gid"): _IDS,
}
