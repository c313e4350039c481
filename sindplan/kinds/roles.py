"""What runs on a node, by its role: the one table of daemons.

Names are those of systemd units without `.service`. `sshd` is Debian's ssh.service by its alias; elsewhere it is the name.
"""

from collections.abc import Mapping

from sindplan.model.declaration import Identity

DAEMONS: Mapping[str, tuple[str, ...]] = {
    "controller": ("slurmctld",),
    # In the order in which they are started.
    "db": ("mariadb", "slurmdbd"),
    "api": ("slurmrestd",),
    "submitter": (),
    "worker": ("slurmd",),
}
"""Daemons that sindplan runs on a managed node."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    "slurmctld": ("munge",),
    "slurmd": ("munge",),
    "slurmrestd": ("munge",),
    "slurmdbd": ("munge", "mariadb"),
}
"""Daemons of the same node without which a daemon does not start."""


def daemons(role: str, *, managed: bool, identity: Identity) -> tuple[str, ...]:
    """Return the daemons of Slurm and its database on a node."""
    if not managed:
        return ()
    if role == "submitter" and identity == "client_ids":
        # auth/slurm: commands get their credentials from sackd where no other daemon of Slurm runs (sackd(8)).
        return ("sackd",)
    return DAEMONS[role]


def units(role: str, *, managed: bool, identity: Identity, munge: bool = True) -> tuple[str, ...]:
    """Return the systemd units that must be active on a node.

    Args:
        munge: Whether the node's image has munged at all; one for an unmanaged node need not.
    """
    base = ("munge", "sshd") if munge and identity != "client_ids" else ("sshd",)
    return tuple(f"{name}.service" for name in (*base, *daemons(role, managed=managed, identity=identity)))
