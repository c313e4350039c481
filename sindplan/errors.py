"""What can go wrong, grouped by who must act.

    SindplanError
     ├─ DeclarationInvalid   the state file is wrong: holds every problem of it
     ├─ SnapshotInvalid      a snapshot is damaged: holds every problem of it
     ├─ NodeFailed           a node did not become ready: holds its diagnostics
     └─ EngineError          Docker
         ├─ EngineUnreachable    nobody answers, or it is not usable from here
         ├─ EngineTimeout        no answer in time: the outcome of the call is unknown
         └─ EngineRefused        the engine said no
             ├─ NotFound         404
             └─ Conflict         409 and its relatives: name taken, in use, wrong state

Errors hold what happened; `sindplan.cli` alone turns them into text for people.
"""

from pathlib import Path

from attrs import frozen


class SindplanError(Exception):
    """Root of everything sindplan raises on purpose.

    Attributes:
        summary: One full sentence: what is wrong and, if known, why.
        fix: What the reader can do about it; may be empty.
    """

    def __init__(self, summary: str, fix: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.fix = fix


@frozen(order=True)
class Problem:
    """One thing that is wrong with a state file.

    Attributes:
        file: The file it stands in.
        line: The line, counted from 1; 0 when the problem is of the whole file.
        key: The key path as in TOML, such as `realms.sind.clusters.dev.workers.cpu.count`; may be empty.
        what: What is wrong, as one sentence without the place.
        fix: What would be right; may be empty.
    """

    file: Path
    line: int
    key: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else f"{self.file}"
        key = f" {self.key}:" if self.key else ""
        fix = f"\n    {self.fix}" if self.fix else ""
        return f"{place}:{key} {self.what}{fix}"


class DeclarationInvalid(SindplanError):
    """The state files do not make a valid declaration; `problems` lists everything at once, sorted."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        count = len(problems)
        super().__init__(f"The declaration is not valid: {count} problem{'s' if count != 1 else ''}.")
        self.problems = problems


class SnapshotInvalid(SindplanError):
    """A snapshot's file is none, or damaged; `problems` lists everything at once."""

    def __init__(self, problems: tuple[Problem, ...], fix: str = "") -> None:
        count = len(problems)
        super().__init__(f"The snapshot is not valid: {count} problem{'s' if count != 1 else ''}.", fix)
        self.problems = problems


class NodeFailed(SindplanError):
    """A node container exited, or a unit in it failed or did not start in time.

    `diagnostics` is text for people: exit code, failed units, last journal lines. It comes out of a
    container and is untrusted.
    """

    def __init__(self, summary: str, diagnostics: str = "", fix: str = "") -> None:
        super().__init__(summary, fix)
        self.diagnostics = diagnostics


class EngineError(SindplanError):
    """Docker did not do what it was asked to."""


class EngineUnreachable(EngineError):
    """No engine answers at the address, it may not be used by this user, or it hangs."""


class EngineTimeout(EngineError):
    """A call got no answer in time. It may still take effect: read again before deciding anything."""


class EngineRefused(EngineError):
    """The engine answered with an error.

    Attributes:
        verb: The port's verb, such as `create_container`.
        name: The object it was about.
        status: The HTTP status (Docker Engine API v1.48).
        text: The engine's own message.
    """

    def __init__(self, verb: str, name: str, status: int, text: str, fix: str = "") -> None:
        super().__init__(f"Docker refused to {verb.replace('_', ' ')} {name!r}: {text.strip()}", fix)
        self.verb = verb
        self.name = name
        self.status = status
        self.text = text


class NotFound(EngineRefused):
    """The object is not there (any more)."""


class Conflict(EngineRefused):
    """The object is there already, in use, or in a state in which this cannot be done."""
