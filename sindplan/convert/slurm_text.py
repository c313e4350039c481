"""Text for Slurm's files, carried over byte for byte."""

import re
from collections.abc import Iterator, Mapping

from sindplan.convert.found import WRONG, Found
from sindplan.convert.grammar import SECTIONS
from sindplan.convert.tables import Key, Table, same

_STORAGE_PASSWORD = re.compile(r"^[ \t]*StoragePass[ \t]*=", re.IGNORECASE | re.MULTILINE)
_BETTER = (
    "StoragePass is a secret in plain text. Take it out, and say in the db node's table where it is to be had:",
    'storage_password = { env = "SINDPLAN_SECRET_DB" }',
)


def slurm_text(found: Found) -> Iterator[Key]:
    """Yield the table with all sections that are said."""
    slurm = found.map.get("slurm")
    if slurm is None:
        return
    keys = tuple(_section(name, slurm.map[name]) for name in SECTIONS if slurm.said(name))
    if slurm.is_wrong or keys:
        yield Key("slurm", WRONG if slurm.is_wrong else Table(keys), slurm.place)


def _section(name: str, section: Found) -> Key:
    texts = [section.value, *(fragment.value for fragment in section.map.values())]
    has_password = name == "slurmdbd" and any(isinstance(one, str) and _STORAGE_PASSWORD.search(one) for one in texts)
    above = _BETTER if has_password else ()
    if not isinstance(section.value, Mapping):
        return Key(name, section.value, section.place, above=above)
    fragments = Table(same(section, {fragment: fragment for fragment in section.value}))
    return Key(name, fragments, section.place, above=above)
