"""Passwords that are not what they should be: seen as a difference, without a word of what they are."""

from collections.abc import Collection, Mapping

from attrs import evolve

from sindplan.kinds.config import File
from sindplan.kinds.database import password_in
from sindplan.kinds.service_resource import STALE, Service
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.hidden import Hidden
from sindplan.model.resource import State
from sindplan.slurm.files import STORAGE_PASSWORD
from sindplan.slurm.masking import HIDDEN

_CONF = "file/slurmdbd.conf"
_ANOTHER = "<another>"


def with_passwords(seen: State, wanted: State, passwords: Mapping[Address, Hidden]) -> State:
    """Return what was seen with every password marked that is another than it should be.

    Args:
        passwords: What they should be, by cluster.
    """
    differ = []
    for cluster, password in passwords.items():
        there, should = seen.get(cluster / _CONF), wanted.get(cluster / _CONF)
        if isinstance(there, File) and isinstance(should, File):
            refers = should.original is not None and STORAGE_PASSWORD in should.original.value
            if refers and password_in(_text(there)) != password.value:
                differ.append(cluster / _CONF)
    return _marked(seen, differ)


def with_hidden_differences(now: State, before: State) -> State:
    """Return what there is now with every file marked that says what it said before, but for what is hidden in it."""
    return _marked(
        now,
        [
            address
            for address, there in now.items()
            if isinstance(there, File)
            and isinstance(was := before.get(address), File)
            and there.content == was.content
            and _text(there) != _text(was)
        ],
    )


def _text(file: File) -> str:
    return file.original.value if file.original else file.content


def _marked(seen: State, differ: Collection[Address]) -> State:
    marked = dict(seen)
    for address in differ:
        file = seen[address]
        assert isinstance(file, File)
        marked[address] = evolve(file, content=file.content.replace(HIDDEN, _ANOTHER))
        for reader in (names.DB, "slurmdbd"), (names.CONTROLLER, "slurmctld"):
            daemon = address.scope / "service" / "/".join(reader)
            service = seen.get(daemon)
            if file.reader == reader[1] and isinstance(service, Service):
                marked[daemon] = evolve(service, config=STALE)
    return marked
