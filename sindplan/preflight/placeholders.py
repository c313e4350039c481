"""What stands for a password that was never recorded is not written in its place."""

from collections.abc import Iterator

from sindplan.kinds.config import File
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding
from sindplan.slurm.masking import HIDDEN, holds_placeholders

CHECK = "hidden password"


def check_placeholders(case: Case) -> Iterator[Finding]:
    """Yield files that would be written with what `sindplan import`, records and plan files have for a password.

    A plan that leaves such a file alone is fine: what is hidden in it is compared as hidden.
    """
    for change in case.plan.changes:
        file = change.after
        if isinstance(file, File) and holds_placeholders(file.original.value if file.original else file.content):
            yield Finding(
                CHECK,
                f"{change.address} would be written with {HIDDEN} where a password belongs: whoever wrote this text did not "
                "know the password.",
                f"Put the password where {HIDDEN} stands in the state file (import never sees it), and apply that; not a "
                "plan file of an older sindplan.",
            )
