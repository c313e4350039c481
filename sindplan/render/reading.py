"""Plan documents, read back: from a file that may be anybody's to what a reviewer is told. Nothing in it is trusted."""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from sindplan import __version__
from sindplan.bounded import json_of
from sindplan.errors import SindplanError
from sindplan.model.kind import Phase
from sindplan.render.document import ACTIONS, FORMAT
from sindplan.render.escape import escaped, one_line
from sindplan.render.review import Entry, Remark, Review, Task, flat

BAD = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What comes of reading something else."""
_OPERATIONS = {actions: operation for operation, actions in ACTIONS.items()}


def read_document(path: object, data: bytes) -> dict[str, Any]:
    """Return the document in the bytes of the file at `path`. Raises SindplanError when it is none, or one of another version."""
    try:
        content = table(json_of(data, constant=_no_number))
        inner = table(content["sindplan"])
        made_by, version = str(inner.get("version", "another sindplan")), inner["format"]
    except BAD as error:
        raise no_plan(path) from error
    if version != FORMAT:
        raise SindplanError(
            f"{path} is a plan of sindplan {made_by}, which this version ({__version__}) does not understand.",
            "Make the plan anew: sindplan plan --out FILE",
        )
    return dict(content)


def read_review(path: object, document: Mapping[str, Any]) -> Review:
    """Return what a document tells a reviewer. Raises SindplanError when it is not whole."""
    try:
        return document_review(document)
    except BAD as error:
        raise no_plan(path) from error


def document_review(document: Mapping[str, Any]) -> Review:
    """Return what a document that was just made tells a reviewer."""
    inner = table(document["sindplan"])
    return Review(
        entries=tuple(map(_entry, _list(document["resource_changes"]))),
        tasks=tuple(map(_task, _list(inner["graph"]))),
        name=_line(table(inner["declaration"]).get("name", "")),
        remarks=tuple(map(_remark, _list(inner["findings"]))),
        privileges=tuple(map(_line, _list(inner["privileges"]))),
        blocked=inner["blocked"] is True,
        digest=_line(inner["digest"]),
        made=_line(document["timestamp"]),
        version=_line(inner["version"]),
        left_out=_count(inner["left_out"]),
    )


def no_plan(path: object) -> SindplanError:
    """Return the error that says so."""
    return SindplanError(f"{path} is not a plan that sindplan saved.", "Make one with: sindplan plan --out FILE")


def table(value: object) -> Mapping[str, Any]:
    """Return a value that is a table. Raises TypeError."""
    if not isinstance(value, dict):
        raise TypeError
    return value


def text(value: object) -> str:
    """Return a value that is a text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def _list(value: object) -> Iterable[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError
    return value


def _line(value: object) -> str:
    return one_line(text(value))


def _entry(change: Mapping[str, Any]) -> Entry:
    inner = table(change["sindplan"])
    return Entry(
        address=flat(text(change["address"])),
        operation=_OPERATIONS[tuple(_list(table(change["change"])["actions"]))],
        kind=_line(change["type"]),
        reason=_line(inner["reason"]),
        body=tuple(map(_line, _list(inner["text"]))),
    )


def _task(action: Mapping[str, Any]) -> Task:
    return Task(
        id=_line(action["id"]),
        step=_line(action["step"]),
        says=_line(action["says"]),
        phase=Phase[text(action["phase"]).upper()],
        scope=_line(action["scope"]),
        needs=tuple(map(_line, _list(action["needs"]))),
        addresses=tuple(flat(text(address)) for address in _list(action["changes"])),
        final=action["final"] is True,
    )


def _remark(found: Mapping[str, Any]) -> Remark:
    return Remark(
        check=_line(found["check"]),
        blocks=found["severity"] != "warns",
        what=escaped(text(found["what"])),
        fix=escaped(text(found["fix"])),
    )
