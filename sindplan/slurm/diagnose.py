"""Why a node is not ready: state of the container, its last output, failed units and their last journal lines."""

from collections.abc import Sequence

from sindplan.engine.port import Engine
from sindplan.errors import EngineError

LINES = 20
"""Journal lines of each unit that are shown, as sind shows them."""
_INOTIFY_EXIT = 255

_UNITS = f"""\
systemctl list-units --state=failed --no-legend --plain
for unit; do echo "-- $unit"; systemctl is-active "$unit"; journalctl -q --no-pager -n {LINES} -u "$unit" -o cat; done
"""


def diagnose(engine: Engine, node: str, units: Sequence[str]) -> str:
    """Collect what helps to see why a node failed. Never raises: it runs while another error is being told."""
    try:
        return "\n".join(_lines(engine, node, units))
    except EngineError as error:
        return f"no diagnostics: {error}"


def _lines(engine: Engine, node: str, units: Sequence[str]) -> list[str]:
    container = engine.inspect_container(node)
    if container is None:
        return ["the container is gone"]
    lines = [f"container {container.name} is {container.state}"]
    if container.state != "running":
        lines[0] += f", exit code {container.exit_code}" + (", out of memory" if container.oom_killed else "")
        if container.exit_code == _INOTIFY_EXIT:
            lines.append("systemd exits with 255 when fs.inotify.max_user_instances is used up: raise it to 1024")
        return [*lines, *engine.logs(node, LINES).splitlines()]
    done = engine.execute(node, ["/bin/sh", "-c", _UNITS, "sindplan", *units], timeout=10)
    return [*lines, *done.out.splitlines()]
