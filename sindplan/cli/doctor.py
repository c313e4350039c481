"""`sindplan doctor`."""

import click

from sindplan.cli import options, output


@click.command()
@click.option(
    "--format",
    "-o",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What is printed: text, or JSON with a row a finding.",
)
def command(form: str) -> int:
    """Check the engine and its host: the same checks that every plan makes."""
    from sindplan.preflight.finding import Severity
    from sindplan.preflight.host import check_host

    engine, _ = options.connected()
    try:
        info = engine.info()
    finally:
        engine.close()
    findings = check_host(info, options.surroundings().machine(info))
    blocked = any(finding.severity is Severity.BLOCKS for finding in findings)
    if form == "json":
        rows = [{"check": f.check, "status": f.severity.value, "what": f.what, "fix": f.fix} for f in findings]
        output.json(rows)
    else:
        output.data(f"Docker {info.version} (API {info.api_version}) at {info.address}")
        output.findings(findings)
        output.data("This engine cannot run nodes." if blocked else "This engine can run nodes.")
    return 1 if blocked else 0
