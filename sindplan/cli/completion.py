"""`sindplan completion`: click's own completion, which asks the command line itself, as a command like kubectl and docker have."""

import click

from sindplan.cli import output

PROGRAM = "sindplan"
VARIABLE = "_SINDPLAN_COMPLETE"
"""With this in its environment the program completes (see click's documentation) and does nothing else."""

# Readline takes what stands before an @ for a word of its own; addresses have it in them.
_BASH = "COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}\n"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print what makes a shell complete commands, options, addresses, realms, clusters and nodes.

    \b
    bash: eval "$(sindplan completion bash)"      in ~/.bashrc
    zsh:  eval "$(sindplan completion zsh)"       in ~/.zshrc, after compinit
    fish: sindplan completion fish | source       in ~/.config/fish/config.fish
    """  # noqa: D301 - \b is click's own mark: these lines stay as they are
    from click.shell_completion import get_completion_class

    from sindplan.cli.main import cli

    made = get_completion_class(shell)
    assert made is not None, "click knows these shells"
    # Not `source()`, which asks a bash for its version: none need be there.
    script = made(cli, {}, PROGRAM, VARIABLE)
    output.document(f"{_BASH if shell == 'bash' else ''}{script.source_template % script.source_vars()}\n")
    return 0
