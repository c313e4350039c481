"""Scripts in nodes: run through the engine with a limit, and what is told when they fail."""

from collections.abc import Sequence

from sindplan.engine.port import Engine
from sindplan.engine.records import Executed
from sindplan.errors import Conflict, EngineTimeout, NodeFailed, NotFound
from sindplan.slurm.diagnose import diagnose


def run(engine: Engine, node: str, script: str, arguments: Sequence[str], timeout: float) -> Executed:
    """Run a script for sh with arguments; however it ends, say how. Raises `EngineTimeout` after `timeout` seconds."""
    return engine.execute(node, ["/bin/sh", "-c", script, "sindplan", *arguments], timeout)


def succeed(
    engine: Engine, node: str, script: str, arguments: Sequence[str], timeout: float, what: str, units: Sequence[str]
) -> Executed:
    """Run a script that must succeed.

    Args:
        what: What is said when it does not.
        units: Whose logs are looked at then.

    Raises:
        NodeFailed: It failed, with the last line of what it said, or the node does not run.
        EngineTimeout: It took longer than `timeout` seconds.
    """
    try:
        done = run(engine, node, script, arguments, timeout)
    except (Conflict, NotFound):
        # It ended, was frozen or removed while it was waited for.
        raise failure(engine, node, f"{what}: the node does not run", units) from None
    if done.code != 0:
        last = "".join(f": {line.rstrip('.')}" for line in done.err.strip().splitlines()[-1:])
        raise failure(engine, node, what + last, units)
    return done


def wait(
    engine: Engine, node: str, script: str, arguments: Sequence[str], timeout: float, what: str, units: Sequence[str]
) -> Executed:
    """Run a script that must succeed within `timeout` seconds; as `succeed`, but raises `NodeFailed` also then."""
    try:
        return succeed(engine, node, script, arguments, timeout, what, units)
    except EngineTimeout:
        raise failure(engine, node, f"{what} within {timeout:.0f} seconds", units) from None


def failure(engine: Engine, node: str, what: str, units: Sequence[str]) -> NodeFailed:
    """Return what is raised when something failed in a node: what, and what its units have said."""
    return NodeFailed(f"{name_of(engine, node)}: {what}.", diagnose(engine, node, units))


def name_of(engine: Engine, node: str) -> str:
    """Return a container's name, or the beginning of its id where it is gone."""
    container = engine.inspect_container(node)
    return container.name if container else node[:12]
