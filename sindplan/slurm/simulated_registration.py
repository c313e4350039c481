"""How a simulated slurmctld registers with its slurmdbd, and which id both remember, as real ones do (measured, 24.11 and 26.05)."""

from sindplan.engine.records import Container
from sindplan.slurm.effective import in_force, keeps_accounts
from sindplan.slurm.files import STATE
from sindplan.slurm.simulated_accounting import Database
from sindplan.slurm.simulated_daemons import Machine
from sindplan.slurm.versions import release

REMEMBERED = f"{STATE}/clustername"
_OFFERED_SINCE = (26, 5)
"""Since when slurmdbd takes the id that a cluster which is new to it has; before, it makes one up."""


def register(machine: Machine, container: Container, database: Database | None, dbd: str, new_id: int) -> str:
    """Have a slurmctld register that starts or reads its files; return its words if it refuses.

    Args:
        database: The one that slurmdbd serves; None without one.
        dbd: slurmdbd's version.
        new_id: What comes out of making an id up.
    """
    name = in_force(machine.texts(container)).get("ClusterName", "")
    entry = machine.engine.get_files(container.id, REMEMBERED).get(REMEMBERED) if _has(machine, container) else None
    own = int((entry.content.decode() if entry is not None else "").partition("|")[2] or 0)
    if not keeps_accounts(machine.texts(container)):
        given = own or new_id
    elif database is None:
        return ""
    else:
        offered = own if (release(dbd) or _OFFERED_SINCE) >= _OFFERED_SINCE else 0
        given = database.cluster_id = database.cluster_id or offered or new_id
    if own and own != given:
        return f"fatal: CLUSTER ID MISMATCH. slurmctld has been started with ClusterID={own}, but the DBD thinks it should be {given}"
    if given != own:
        machine.engine.write(container.id, REMEMBERED, f"{name}|{given}".encode())
    return ""


def _has(machine: Machine, container: Container) -> bool:
    return machine.engine.has_file(container.id, REMEMBERED)
