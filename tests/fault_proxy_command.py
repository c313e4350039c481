"""`tools/fault-proxy`: the fault proxy around a command, or at a socket."""

import os
import subprocess
import sys
from pathlib import Path

import click

from tests.fault_proxy import CHANGES, FAULTS, READS, READS_AND_COMMANDS, Fault, FaultProxy, fault_proxy

_KINDS = "\n".join(f"{name:<16}{says}" for name, says in FAULTS.items())
_PASSING = {"all": "", "reads": READS, "reads-and-commands": READS_AND_COMMANDS}
_EPILOG = f"\b\nFaults:\n{_KINDS}"


@click.command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False, "max_content_width": 120})
@click.option("--fault", type=click.Choice(list(FAULTS)), default="refuse", show_default=True, help="What is done.")
@click.option("--at", type=click.IntRange(1), multiple=True, help="To which call, of those that count. Repeatable.")
@click.option("--every-call", "counting", flag_value="", default=CHANGES, help="All calls count, not changes alone.")
@click.option("--counting", metavar="REGEX", help="Calls count that match, as METHOD /path?query from its beginning.")
@click.option("--pass", "passing", type=click.Choice(list(_PASSING)), default="all", show_default=True,
              help="What is not refused: reads are GET and HEAD; commands are those in containers.")  # fmt: skip
@click.option("--status", type=click.IntRange(400, 599), default=500, show_default=True, help="With which it refuses.")
@click.option("--seconds", type=float, default=1.0, show_default=True, help="How long `slow` takes.")
@click.option("--later", type=int, default=3, show_default=True, help="How many calls later `late` comes.")
@click.option("--engine", envvar="DOCKER_HOST", default="unix:///var/run/docker.sock", help="Default: DOCKER_HOST.")
@click.option("--report", type=click.Path(path_type=Path), help="A file for the list of calls.  [default: stderr]")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def main(
    fault: Fault,
    at: tuple[int, ...],
    counting: str,
    passing: str,
    status: int,
    seconds: float,
    later: int,
    engine: str,
    report: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, whose DOCKER_HOST is a proxy before the engine at which single calls fail.

    Afterwards all calls are listed: number, status, what it was, what was done to it. Without a COMMAND the proxy's address is
    printed, and it runs until its input ends.

    \b
    tools/fault-proxy sindplan apply -f x.toml                          count the calls
    tools/fault-proxy --fault kill-done --at 12 sindplan apply -f x.toml
    tools/fault-proxy --pass reads sindplan plan --no-probe -f x.toml
    """
    more = {"counting": counting, "passing": _PASSING[passing], "status": status, "seconds": seconds, "later": later}
    try:
        with fault_proxy(engine, fault, at, **more) as proxy:
            code = _run(proxy, command)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    lines = "".join(f"{seen}\n" for seen in proxy.seen)
    if report:
        report.write_text(lines, encoding="utf-8")
    else:
        click.echo(lines, err=True, nl=False)
    sys.exit(code)


def _run(proxy: FaultProxy, command: tuple[str, ...]) -> int:
    """Return the exit status, as a shell would say it."""
    if not command:
        click.echo(proxy.address)
        sys.stdin.read()
        return 0
    code = subprocess.run(command, env={**os.environ, "DOCKER_HOST": proxy.address}, check=False).returncode
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main(prog_name="fault-proxy")
