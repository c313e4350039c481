"""Passwords that are not what they should be: seen as a difference, without a word of what they are."""

from collections.abc import Mapping

from attrs import evolve

from sindplan.kinds.config import File
from sindplan.kinds.database import password_in
from sindplan.kinds.service import STALE, Service
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
    marked = dict(seen)
    for cluster, password in passwords.items():
        there, should = seen.get(cluster / _CONF), wanted.get(cluster / _CONF)
        if not isinstance(there, File) or not isinstance(should, File):
            continue
        original = there.original.value if there.original else there.content
        refers = should.original is not None and STORAGE_PASSWORD in should.original.value
        if refers and password_in(original) != password.value:
            marked[cluster / _CONF] = evolve(there, content=there.content.replace(HIDDEN, _ANOTHER))
            daemon = cluster / "service" / names.DB / "slurmdbd"
            service = seen.get(daemon)
            if isinstance(service, Service):
                marked[daemon] = evolve(service, config=STALE)
    return marked
