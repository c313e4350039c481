"""What a check finds."""

from enum import Enum

from attrs import frozen


class Severity(Enum):
    """How bad it is: a blocked plan is shown and not applied."""

    BLOCKS = "blocks"
    WARNS = "warns"


@frozen
class Finding:
    """One thing that is or may become a problem.

    Attributes:
        check: Short name of the check, such as `cgroup v2`.
        what: One sentence: what was found and what follows from it.
        fix: How to mend it.
    """

    check: str
    what: str
    fix: str = ""
    severity: Severity = Severity.BLOCKS


def warning(check: str, what: str, fix: str = "") -> Finding:
    """Return a finding that does not block."""
    return Finding(check, what, fix, Severity.WARNS)
