"""What lies in a node before its first boot, so that nothing has to be done in it afterwards."""

import secrets
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.boot_daemons import daemon_entries
from sindplan.kinds.boot_people import home_entries, people_entries
from sindplan.kinds.host_key import HOST_KEY, HostKey
from sindplan.model.hidden import Hidden
from sindplan.model.people import People
from sindplan.slurm.files import STATE

UNITS = "/etc/systemd/system"
WANTS = f"{UNITS}/multi-user.target.wants"
AUTHORIZED = "/root/.ssh/authorized_keys"
"""Keys that may log in as root: the relay's, and whatever users add."""


@frozen(kw_only=True)
class FirstBoot:
    """What a node's first boot must find.

    Attributes:
        daemons: Units to start, without `.service`.
        first: Whether it is the controller through which the cluster's volumes are filled.
        controls: Whether slurmctld's state volume is mounted.
        munge: Whether munged authenticates; otherwise it is masked, since auth/slurm does.
        holds_key: Whether the munge key's volume can be written here.
        owners: User id and group id of users of the image that files are given to.
        people: Users and groups to make on the node.
        homes: Users and groups whose home folders the node makes.
        nss_slurm: Whether names of users come from Slurm's jobs first.
        db_password: Whether slurmdbd has a password at MariaDB that an apply looks up.
        password: slurmdbd's password at MariaDB where the state file itself says it.
    """

    daemons: tuple[str, ...] = ()
    first: bool = False
    controls: bool = False
    munge: bool = True
    holds_key: bool = False
    owners: Mapping[str, tuple[int, int]] = field(factory=dict)
    people: People = field(factory=People)
    homes: People = field(factory=People)
    nss_slurm: bool = False
    db_password: bool = False
    password: Hidden | None = None


def boot_entries(boot: FirstBoot, host_key: HostKey, relay_key: str, password: Hidden | None) -> list[Entry]:
    """Return what is put into a node.

    Args:
        relay_key: The relay's public key, one line.
        password: slurmdbd's password at MariaDB, where it has one.
    """
    return [
        *_ssh(host_key, relay_key),
        # Every container of an image would have the image's.
        Entry(path="/etc/machine-id", content=f"{secrets.token_hex(16)}\n".encode(), mode=0o444),
        *_units(boot),
        *_volumes(boot),
        *people_entries(boot.people),
        *home_entries(boot.homes, relay_key),
        *daemon_entries(
            boot.daemons,
            boot.owners,
            password if boot.db_password else boot.password,
            nss_slurm=boot.nss_slurm,
            standby=boot.controls and not boot.first,
        ),
    ]


def unit_entries(boot: FirstBoot) -> list[Entry]:
    """Return what systemd is told of the node's units: links and drop-ins."""
    daemons = daemon_entries(
        boot.daemons, boot.owners, None, nss_slurm=boot.nss_slurm, standby=boot.controls and not boot.first
    )
    return [*_units(boot), *(entry for entry in daemons if entry.path.startswith(UNITS))]


def _ssh(host_key: HostKey, relay_key: str) -> Iterator[Entry]:
    yield Entry(path=HOST_KEY, content=host_key.private, mode=0o600)
    yield Entry(path=f"{HOST_KEY}.pub", content=f"{host_key.public}\n".encode())
    # Other keys, which the image may bring, would be the same on all nodes.
    yield Entry(path="/etc/ssh/sshd_config.d/10-sindplan.conf", content=f"HostKey {HOST_KEY}\n".encode())
    yield Entry(path="/root/.ssh", kind="dir", mode=0o700)
    yield Entry(path=AUTHORIZED, content=f"{relay_key.strip()}\n".encode(), mode=0o600)


def _units(boot: FirstBoot) -> Iterator[Entry]:
    for daemon in boot.daemons:
        yield Entry(
            path=f"{WANTS}/{daemon}.service",
            kind="link",
            link=f"/usr/lib/systemd/system/{daemon}.service",
        )
    if not boot.munge:
        yield Entry(path=f"{UNITS}/munge.service", kind="link", link="/dev/null")


def _volumes(boot: FirstBoot) -> Iterator[Entry]:
    """Yield the roots of fresh volumes, which belong to root."""
    if boot.controls:
        uid, gid = boot.owners["slurm"]
        yield Entry(path=STATE, kind="dir", mode=0o755, uid=uid, gid=gid)
    if boot.holds_key:
        uid, gid = boot.owners["munge"]
        yield Entry(path="/etc/munge", kind="dir", mode=0o700, uid=uid, gid=gid)
