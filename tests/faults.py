"""Faults by number: an engine whose Nth change fails before, after or long after it took effect, or is the last one."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from sindplan.engine.port import Engine
from sindplan.errors import EngineRefused, EngineTimeout, EngineUnreachable

# The port's verbs that change the engine, and so can fail half way.
MUTATING = frozenset(
    {
        "connect",
        "copy_files",
        "create_container",
        "create_network",
        "create_volume",
        "disconnect",
        "execute",
        "kill",
        "pause",
        "pull",
        "put_files",
        "remove_container",
        "remove_network",
        "remove_volume",
        "rename",
        "start",
        "stop",
        "unpause",
        "update_limits",
    }
)

Mode = Literal["before", "after", "timeout", "timeout-before", "late", "last", "dead"]


class FaultyEngine:
    """Delegates to an engine and fails its mutating call number `fail_at`, counted from 1; later ones go on.

    `before`: refused with 500, nothing was done. `after`: refused with 500 although it was done. `timeout`: done, but no answer came.
    `timeout-before`: not done, and no answer came. `late`: no answer came, and it is done when `LATE_BY` other changes have been, or
    in `settle`. `last`: the same, in `settle` only. `dead`: not done, nor is anything after it, not even reads: whoever calls was killed.

    `calls` lists the mutating calls as `(verb, first argument)`; a spec is listed by its name. With `fail_at` 0 it only counts.
    `verbs` limits which verbs count.
    """

    def __init__(
        self, engine: Engine, fail_at: int = 0, mode: Mode = "before", verbs: frozenset[str] = MUTATING
    ) -> None:
        self.engine = engine
        self.fail_at = fail_at
        self.mode = mode
        self.verbs = verbs
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._late: Callable[[], object] | None = None

    def _perform(self, verb: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        counts = verb in self.verbs
        about = next(iter((*args, *kwargs.values())), "")
        name = str(getattr(about, "name", about))
        with self._lock:
            if counts:
                self.calls.append((verb, name))
            number = len(self.calls)
            late = self._late if self.mode == "late" and number >= self.fail_at + LATE_BY else None
            self._late = None if late else self._late
        if late:
            _whatever_comes(late)
        if self.mode == "dead" and 0 < self.fail_at <= number:
            raise EngineUnreachable("injected: killed")
        if not counts or number != self.fail_at:
            return call(*args, **kwargs)
        if self.mode in ("after", "timeout"):
            call(*args, **kwargs)
        if self.mode in ("late", "last"):
            self._late = lambda: call(*args, **kwargs)
        if self.mode in ("timeout", "timeout-before", "late", "last"):
            raise EngineTimeout(f"injected: no answer to {verb} {name!r}")
        raise EngineRefused(verb, name, 500, f"injected: {self.mode}")

    def settle(self) -> None:
        """Do what is late, if it still is."""
        with self._lock:
            late, self._late = self._late, None
        if late:
            _whatever_comes(late)


LATE_BY = 3


def _whatever_comes(late: Callable[[], object]) -> None:
    # The world has moved on: the engine may refuse it by now, and there is nobody to hear it.
    with suppress(EngineRefused):
        late()


def _delegate(verb: str) -> Callable[..., Any]:
    def delegated(self: FaultyEngine, *args: Any, **kwargs: Any) -> Any:
        return self._perform(verb, getattr(self.engine, verb), *args, **kwargs)

    delegated.__name__ = verb
    return delegated


# Generated from the port, so that a new verb cannot be forgotten.
VERBS = tuple(name for name, value in vars(Engine).items() if callable(value) and not name.startswith("_"))
for _verb in VERBS:
    setattr(FaultyEngine, _verb, _delegate(_verb))
