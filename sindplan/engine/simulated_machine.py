"""What runs inside simulated containers: a hook, and a default that knows a few plain commands.

A richer machine (systemd and Slurm) implements `Machine`. It is called with the engine's lock held and may read and write
files through `SimulatedEngine.read` and `.write`, and end a container by `.exit`.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import define, field

from sindplan.engine.records import Container, Executed

if TYPE_CHECKING:
    from sindplan.engine.simulated import SimulatedEngine


class Machine(Protocol):
    """The processes of a simulated engine's containers. Containers are given as inspect shows them."""

    def attach(self, engine: "SimulatedEngine") -> None:
        """Take the engine whose containers it plays; called once, by the engine."""

    def started(self, container: Container) -> int | None:
        """Play a start. Return the exit code of a first process that ends at once, None when it runs on."""

    def stopped(self, container: Container) -> int | None:
        """Play the end of all processes. Return the exit code that a polite stop gives; None when it takes a kill."""

    def execute(self, container: Container, command: Sequence[str], user: str) -> Executed:
        """Play a command in a running container."""

    def processes(self, container: Container) -> Sequence[str]:
        """Return the program names of what runs."""

    def output(self, container: Container) -> Sequence[str]:
        """Return the lines printed since the last start, also of one that has ended."""


@define
class PlainMachine:
    """Knows `true`, `false`, `echo`, `cat`, `sleep`, `exit` and lines of them joined by `;` under `sh -c`.

    `sleep` as a first process runs until it is stopped, which takes a kill unless Docker's init is in front, as in reality.
    """

    _engine: "SimulatedEngine | None" = field(default=None, init=False)
    _output: dict[str, list[str]] = field(factory=dict, init=False)

    def attach(self, engine: "SimulatedEngine") -> None:
        """Take the engine."""
        self._engine = engine

    def started(self, container: Container) -> int | None:
        """Run the container's command up to a `sleep`."""
        spec = container.spec
        result, sleeps = self._run(container, (*(spec.entrypoint or ()), *(spec.command or ())))
        self._output[container.id] = (result.out + result.err).splitlines()
        return None if sleeps else result.code

    def stopped(self, container: Container) -> int | None:
        """End with 143 when an init passes SIGTERM on."""
        return 143 if container.spec.init else None

    def execute(self, container: Container, command: Sequence[str], user: str) -> Executed:
        """Run a command; a `sleep` takes no time."""
        result, _ = self._run(container, command)
        return result

    def processes(self, container: Container) -> Sequence[str]:
        """Return its only process, and Docker's init in front of it."""
        words = (*(container.spec.entrypoint or ()), *(container.spec.command or ()))
        return [*(["docker-init"] if container.spec.init else []), *(word.rpartition("/")[2] for word in words[:1])]

    def output(self, container: Container) -> Sequence[str]:
        """Return what `started` printed."""
        return self._output.get(container.id, ())

    def _run(self, container: Container, command: Sequence[str]) -> tuple[Executed, bool]:
        """Return the result and whether it ended in a sleep."""
        code, out, err = 0, "", ""
        for words in _commands(command):
            name = words[0].rpartition("/")[2] if words else ""
            if name in ("sleep", "init"):
                return Executed(code=0, out=out, err=err), True
            run = _PROGRAMS.get(name)
            if run is None:
                return Executed(code=127, out=out, err=f"{err}{words[0]}: No such file or directory\n"), False
            code, said, wrong = run(lambda path: self._read(container, path), words[1:])
            out, err = out + said, err + wrong
            if name == "exit":
                break
        return Executed(code=code, out=out, err=err), False

    def _read(self, container: Container, path: str) -> bytes | None:
        return None if self._engine is None else self._engine.read(container.id, path)


_Read = Callable[[str], bytes | None]
_Ended = tuple[int, str, str]


def _cat(read: _Read, words: Sequence[str]) -> _Ended:
    out, err = "", ""
    for path in words:
        content = read(path)
        if content is None:
            err += f"cat: {path}: No such file or directory\n"
        else:
            out += content.decode(errors="replace")
    return (1 if err else 0), out, err


def _echo(_: _Read, words: Sequence[str]) -> _Ended:
    if words and words[-1] == ">&2":
        return 0, "", " ".join(words[:-1]) + "\n"
    return 0, " ".join(words) + "\n", ""


_PROGRAMS: dict[str, Callable[[_Read, Sequence[str]], _Ended]] = {
    "true": lambda _, __: (0, "", ""),
    "false": lambda _, __: (1, "", ""),
    "exit": lambda _, words: (int(words[0]) if words else 0, "", ""),
    "echo": _echo,
    "cat": _cat,
}


def _commands(command: Sequence[str]) -> list[list[str]]:
    match command:
        case ["sh", "-c", script, *_]:
            return [shlex.split(part) for part in script.split(";") if part.strip()]
    return [list(command)]
