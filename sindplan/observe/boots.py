"""What a node's next boot would find, out of systemd's folder: nothing of it is run, so a stopped node tells it too."""

import posixpath
from collections.abc import Mapping, Sequence

from sindplan.engine.records import Entry
from sindplan.kinds.boot_daemons import DROP_IN
from sindplan.kinds.evidence import BootEvidence
from sindplan.kinds.first_boot import UNITS, WANTS


def read_boot(
    entries: Mapping[str, Entry], units: Sequence[str], *, authorized: str | None, statements: bool
) -> BootEvidence:
    """Read what lies below /etc/systemd/system.

    Args:
        units: The node's units.
        authorized: The file of keys that may log in as root.
        statements: Whether there is what MariaDB runs at each start.
    """
    names = {unit.removesuffix(".service") for unit in units}
    return BootEvidence(
        enabled=frozenset(name for name in names if f"{WANTS}/{name}.service" in entries),
        masked=frozenset(name for unit in units for name in _names_of(entries, unit) if _is_masked(entries, name)),
        # An empty file says as little as none.
        drop_ins=frozenset(
            name
            for name in names
            if (found := entries.get(f"{UNITS}/{name}.service.d/{DROP_IN}")) is not None and found.content
        ),
        statements=statements,
        authorized=authorized,
    )


def _names_of(entries: Mapping[str, Entry], unit: str) -> tuple[str, ...]:
    """Return a unit's names: with Debian sshd.service is a link to ssh.service, and both can be masked."""
    found = entries.get(f"{UNITS}/{unit}")
    return (unit, posixpath.basename(found.link)) if found is not None and found.kind == "link" else (unit,)


def _is_masked(entries: Mapping[str, Entry], unit: str) -> bool:
    found = entries.get(f"{UNITS}/{unit}")
    return found is not None and found.kind == "link" and found.link == "/dev/null"
