"""Slurm's port and the engine with a log: what was asked of them, in order, and by whom it was answered."""

from collections.abc import Callable
from typing import Any

from attrs import define, evolve, field

from sindplan.errors import NodeFailed
from tests.world import World


@define
class Recording:
    """Passes everything on to a port and lists it as `(verb, container name, what)`.

    Attributes:
        fails: Verb and container for which nothing is done but an error raised, as if the node were lost just then.
    """

    port: Any
    world: World
    log: list[tuple[Any, ...]]
    fails: tuple[str, str] = ("", "")
    _own: str = field(default="", init=False)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        call = getattr(self.port, verb)
        if not callable(call):
            return call

        def recorded(*arguments: Any, **named: Any) -> Any:
            name, what = self._said(arguments, named)
            self.log.append((verb, name, *what))
            if (verb, name) == self.fails:
                raise NodeFailed(f"{name}: lost at {verb}")
            return call(*arguments, **named)

        return recorded

    def _said(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, list[Any]]:
        first, *rest = arguments or ("",)
        container = self.world.engine.inspect_container(first) if isinstance(first, str) and first else None
        # Units, nodes and paths tell the calls apart; patience and contents do not.
        lists = [
            tuple(sorted(getattr(one, "path", str(one)) for one in what))
            for what in rest
            if isinstance(what, list | tuple | dict)
        ]
        return (container.name if container else str(getattr(first, "name", first))), [
            *lists,
            *(k for k, v in named.items() if v),
        ]


def recorded_world(world: World, *, fails: tuple[str, str] = ("", "")) -> tuple[World, list[tuple[Any, ...]]]:
    """Return a world whose Slurm is listened to, and the list that fills."""
    log: list[tuple[Any, ...]] = []
    return evolve(world, slurm=Recording(world.slurm, world, log, fails)), log
