"""`sindplan unlock`."""

import click

from sindplan.cli import candidates, options, output
from sindplan.cli.ask import agreed
from sindplan.errors import SindplanError


@click.command()
@click.argument("realm", shell_complete=candidates.realms)
@click.option("--id", "lock_id", metavar="ID", help="Only if the lock is this one, as an earlier call has named it.")
@click.option("--auto-approve", is_flag=True, help="Do not ask; needs --id.")
def command(realm: str, lock_id: str | None, auto_approve: bool) -> int:
    """Take the lock of a REALM away from somebody who is no more.

    A lock whose holder ran on this machine and has ended needs no such thing: the next command takes it over.
    """
    from sindplan.execute.unlock import held, unlock

    if auto_approve and lock_id is None:
        raise click.UsageError("--auto-approve needs --id: what nobody looks at must be named.")
    engine, _ = options.connected()
    try:
        lock = held(engine, realm)
        if lock is None:
            output.say(f"Nobody holds the lock of the realm {realm!r} on the engine.")
            return 0
        if lock_id is not None and lock.id != lock_id:
            raise SindplanError(
                f"The lock of the realm {realm!r} is {lock.id}, held by {lock.who}, not {lock_id}.",
                "Somebody else holds it now; nothing was changed.",
            )
        output.say(f"The lock of the realm {realm!r} is held by {lock.who}.\nIts id is {lock.id}.")
        if lock.alive:
            raise SindplanError("That process runs on this machine.", "Wait for it, or end it; then nothing is locked.")
        if not auto_approve and not agreed(
            "If it still works on the realm, both will spoil each other's work. Remove it?"
        ):
            output.say("Nothing was changed.")
            return 1
        if not unlock(engine, lock):
            output.say("It is gone by itself.")
            return 0
    finally:
        engine.close()
    output.say(f"The realm {realm!r} is not locked any more.")
    return 0
