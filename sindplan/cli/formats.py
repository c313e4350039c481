"""The formats that plans are printed in, each by a renderer of its own, which is imported when it is asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import click

from sindplan.cli.options import Command

Format = Literal["text", "json", "markdown", "dot", "mermaid", "html"]
FORMATS: tuple[Format, ...] = ("text", "json", "markdown", "dot", "mermaid", "html")
GRAPHS: tuple[Format, ...] = ("dot", "mermaid")


def option(command: Command) -> Command:
    """Add `--format`."""
    made = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="What is printed: text; JSON in the shape of terraform's; markdown for a pull request; the graph of actions "
        "for Graphviz (dot) or mermaid; or a page for a browser (html).",
    )
    return made(command)


def rendered(form: Format, document: Mapping[str, Any], path: Path | None = None, *, whole: bool = False) -> str:
    """Return a plan's document in a format.

    Args:
        path: The file that it was read from, for errors.
        whole: Whether a graph shows every action, however many.

    Raises:
        SindplanError: The document is not whole.
    """
    if form == "json":
        from sindplan.render.document import json_text

        return json_text(document)
    from sindplan.render.reading import read_review

    found = read_review(path or "The plan", document)
    match form:
        case "text":
            from sindplan.render.text import review_text

            return review_text(found)
        case "markdown":
            from sindplan.render.markdown import markdown

            return markdown(found)
        case "dot":
            from sindplan.render.dot import dot

            return dot(found, whole=whole)
        case "mermaid":
            from sindplan.render.mermaid import mermaid

            return mermaid(found, whole=whole)
        case "html":
            from sindplan.render.html import html

            return html(found)
