"""Where the data folder may be in the nodes: not where they have something else, and not where it breaks them."""

from collections.abc import Callable, Iterator

from attrs import frozen

from sindplan.model.declaration import Cluster
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.wording import quoted


def _always(_: Cluster) -> bool:
    return True


@frozen
class Taken:
    """A place that nodes need.

    Attributes:
        path: The place.
        holds: What is there.
        below: Whether places below it are taken, too.
        applies: Whether a cluster's nodes have it.
    """

    path: str
    holds: str
    below: bool = False
    applies: Callable[[Cluster], bool] = _always


_TAKEN: tuple[Taken, ...] = (
    Taken("/etc/slurm", "Slurm's configuration is there", below=True),
    Taken("/etc/munge", "the munge key is there", below=True, applies=lambda one: one.identity != "client_ids"),
    Taken("/tmp", "every node has its own"),  # noqa: S108, a mount in a container
    Taken("/run", "systemd needs it", below=True),
    Taken("/var/spool/slurmctld", "the controller's state is there", below=True),
    Taken("/var/spool/slurmd", "every worker has its own", below=True),
    Taken("/var/lib/mysql", "the database is there", below=True, applies=lambda one: one.db is not None),
    Taken("/home", "the users' folders are there", applies=lambda one: bool(one.users)),
    Taken("/cvmfs", "CVMFS is there", below=True, applies=lambda one: one.storage.cvmfs),
    *(Taken(path, "it is the kernel's", below=True) for path in ("/dev", "/proc", "/sys")),
    *(
        Taken(path, "the system is there", below=True)
        for path in ("/bin", "/boot", "/lib", "/lib32", "/lib64", "/libx32", "/root", "/sbin", "/var/lock", "/var/run")
    ),
    *(
        Taken(path, "the system is there")
        for path in (
            *("/etc", "/etc/ssh", "/etc/ssl", "/etc/systemd", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64"),
            *("/usr/libexec", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/log", "/var/spool"),
        )
    ),
)


def _mount_path_is_free(context: Context) -> Iterator[Fault]:
    path = context.cluster.storage.mount_path
    for taken in _TAKEN:
        is_there = path == taken.path or (taken.below and path.startswith(f"{taken.path}/"))
        if is_there and taken.applies(context.cluster):
            what = f"{quoted(path)} is taken: {taken.holds}."
            yield context.fault(("storage", "mount_path"), what, "Choose another path, such as /data.")


RULES = (_mount_path_is_free,)
