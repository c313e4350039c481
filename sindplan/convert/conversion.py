"""The whole way from the bytes of sind's file to the text of a state file."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sindplan.convert.compose import compose
from sindplan.convert.found import Place
from sindplan.convert.grammar import CLUSTER
from sindplan.convert.reading import Reading
from sindplan.convert.rules import check
from sindplan.convert.tables import Table, content, places, refused
from sindplan.convert.translate import Choices, translate
from sindplan.convert.write_toml import write_toml
from sindplan.errors import DeclarationInvalid, Problem, SindplanError
from sindplan.statefile.fault import Fault
from sindplan.statefile.files import Document
from sindplan.statefile.source import Source
from sindplan.statefile.wording import KeyPath, key_path, plain


def convert(data: bytes, file: Path, *, name: str, image: str) -> str:
    """Return a state file that declares the cluster of one of sind's files.

    Args:
        data: The content of sind's file.
        file: What it is called.
        name: The name of the declaration.
        image: The image of nodes for which the file names none.

    Raises DeclarationInvalid with every problem of the file.
    """
    reading = Reading(file)
    root = compose(data, file)
    found = reading.read(CLUSTER, root, Place((), 0))
    assert found is not None
    if found.is_wrong:
        raise DeclarationInvalid(tuple(reading.problems))
    check(reading, found)
    state = translate(found, Choices(plain(file.name), name, image))
    problems = {*reading.problems, *_problems_of(state, file)}
    if problems:
        raise DeclarationInvalid(tuple(sorted(problems)))
    return write_toml(state)


def _problems_of(state: Table, file: Path) -> Iterator[Problem]:
    """Yield what the rules of state files say of a translation, at the places of sind's file that it came from."""
    at = places(state)
    known = set(refused(state))
    for fault in Source.of(Document(file, content(state))).faults():
        if fault.path in known:
            continue
        place = _place(fault, at)
        if place is None:
            raise SindplanError(fault.what, fault.fix)
        yield Problem(file, place.line, key_path(place.path), fault.what, fault.fix)


def _place(fault: Fault, at: Mapping[KeyPath, Place]) -> Place | None:
    """Return the place that a fault is about: of its key, or of the nearest table around it."""
    paths = (fault.path[:depth] for depth in range(len(fault.path), 0, -1))
    return next((at[path] for path in paths if path in at), None)
