"""A request to the engine as data: made without the docker SDK, sent by `sindplan.engine.transport`."""

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict
from urllib.parse import quote

from attrs import field, frozen

# Seconds that an answer usually may take.
READ = 60.0

# JSON that was read: its shape is Docker's affair, and `sindplan.engine.inspection` alone knows it.
Parsed = Any


class Options(TypedDict, total=False):
    """What a call may have beside its verb, name, method and path."""

    query: Mapping[str, str]
    json: object
    data: bytes | Iterator[bytes]
    timeout: float


@frozen(kw_only=True)
class Call:
    """One request. `verb` and `name` are for errors; `path` comes after the API version, quoted by `path_of`."""

    verb: str
    name: str
    method: str
    path: str
    query: Mapping[str, str] = field(factory=dict)
    json: object = None
    data: bytes | Iterator[bytes] | None = None
    timeout: float = READ

    @property
    def reading(self) -> bool:
        """Whether it changes nothing."""
        return self.method in ("GET", "HEAD")

    @property
    def words(self) -> str:
        """What it is about, for people."""
        verb = self.verb.replace("_", " ")
        return f"{verb} {self.name!r}" if self.name else verb


def path_of(template: str, *parts: str) -> str:
    """Fill quoted parts into a path."""
    return template.format(*(quote(part, safe="", errors="replace") for part in parts))
