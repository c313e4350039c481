"""The one question: only the word yes is taken for it, and only from a terminal."""

import sys

import click

from sindplan.cli import output


def agreed(question: str) -> bool:
    """Ask on the terminal; without one nobody agrees, and what to say instead is told."""
    if sys.stdin is None or not sys.stdin.isatty():
        output.say("There is no terminal to ask on: say --auto-approve to go on without a question.")
        return False
    output.say("Only 'yes' will be accepted to go on.")
    return str(click.prompt(question, err=True, default="", show_default=False, prompt_suffix=" ")) == "yes"
