"""`sindplan drift`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sindplan import __version__
from sindplan.cli import candidates, options, output

if TYPE_CHECKING:
    from sindplan.render.drift import Report

DRIFTED = 2
_READABLE, _CLOSED = 0o644, 0o600
"""The node exporter reads metrics as another user; reports say how clusters are configured."""
_LONGEST = 4096


@click.command()
@options.engine
@options.against
@click.option(
    "--realm",
    "realms",
    multiple=True,
    metavar="REALM",
    shell_complete=candidates.realms,
    help="Look at this realm only; repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "prometheus"]),
    default="text",
    show_default=True,
    help="Text and markdown are empty when nothing differs; JSON and metrics are there always.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report there, whole or not at all, instead of printing it; over nothing but another report.",
)
def command(realms: tuple[str, ...], form: str, out: Path | None) -> int:
    """Show what differs from what was applied last. Needs no state file, and changes nothing.

    Made for cron: silent with status 0 when nothing differs, the report and status 2 when something does.
    """
    from sindplan.cli.whole_files import check_replaceable, write_whole
    from sindplan.preflight.finding import Severity, warning
    from sindplan.render.drift import Drifted, Report, Told, drift_plan
    from sindplan.saved import image_ids
    from sindplan.workflow import at_work, prepare_drift, without_records

    if out is not None:
        check_replaceable(out, "a report of drift", _is_report, _LONGEST)
    engine, slurm = options.connected()
    try:
        moment = options.surroundings().now()
        # Asked twice: who is at work at either end may have been seen half way.
        before = at_work(engine)
        found = prepare_drift(engine, slurm, realms, surroundings=options.surroundings())
        forgotten = without_records(engine, realms)
        touched = {change.address.realm for one in found for change in one.plan.changes}
        busy = {**before, **at_work(engine)} if touched else {}
    finally:
        engine.close()
    blocks = {one.owner: [each for each in one.findings if each.severity is Severity.BLOCKS] for one in found}
    report = Report(
        version=__version__,
        moment=moment,
        realms=tuple(sorted(set(realms))),
        found=tuple(
            Drifted(
                owner=one.owner,
                clusters=one.clusters,
                plan=one.plan,
                blocks=tuple(Told(each.what, each.fix) for each in blocks[one.owner]),
                images=image_ids(one),
            )
            for one in found
        ),
        forgotten={address: Told(each.what, each.fix) for address, each in forgotten.items()},
    )
    output.findings(finding for realm, finding in busy.items() if realm in touched)
    if out is not None:
        write_whole(out, _FORMATS[form](report).encode(), _READABLE if form == "prometheus" else _CLOSED)
    elif form != "text":
        output.document(_FORMATS[form](report))
    else:
        for one in report.drifted:
            output.data(drift_plan(one))
            output.findings(blocks[one.owner])
        output.findings(warning("record", told.what, told.fix) for told in report.forgotten.values())
    return 0 if report.quiet else DRIFTED


def _text(report: "Report") -> str:
    from sindplan.render.drift import drift_text

    return drift_text(report)


def _json(report: "Report") -> str:
    from sindplan.render.drift import drift_json

    return drift_json(report)


def _markdown(report: "Report") -> str:
    from sindplan.render.drift_markdown import drift_markdown

    return drift_markdown(report)


def _prometheus(report: "Report") -> str:
    from sindplan.render.drift_prometheus import drift_prometheus

    return drift_prometheus(report)


_FORMATS: Mapping[str, "Callable[[Report], str]"] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "prometheus": _prometheus,
}


def _is_report(beginning: bytes) -> bool:
    """Say by its first bytes whether a file is a report in any format."""
    from sindplan.render.drift import KIND
    from sindplan.render.drift_markdown import MARKER
    from sindplan.render.drift_prometheus import BEGINNING

    return beginning.startswith(
        (f"{KIND}, ".encode(), f'{{\n  "kind": "{KIND}"'.encode(), MARKER.encode(), BEGINNING.encode())
    )
