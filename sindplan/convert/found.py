"""What was found in a YAML file: values of sind's grammar with the places where they stand."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from sindplan.statefile.wording import KeyPath


@frozen
class Place:
    """Where something stands: its key path in YAML, and its line; line 0 is the whole file."""

    path: KeyPath
    line: int

    def key(self, name: str | int, line: int) -> "Place":
        """Return the place of a key or item below this."""
        return Place((*self.path, name), line)


class Wrong:
    """A value that was refused: something was said, and nothing can be concluded from it."""


WRONG: Final = Wrong()

Value = str | int | bool | Wrong | tuple["Found", ...] | Mapping[str, "Found"]


@frozen
class Found:
    """A value and its place."""

    place: Place
    value: Value

    @property
    def is_wrong(self) -> bool:
        """Whether it was refused."""
        return self.value is WRONG

    @property
    def map(self) -> Mapping[str, "Found"]:
        """The keys of a map; of anything else none."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple["Found", ...]:
        """The items of a list; of anything else none."""
        return self.value if isinstance(self.value, tuple) else ()

    def said(self, key: str) -> bool:
        """Say whether a map says something for a key, be it wrong."""
        return key in self.map

    def place_of(self, key: str) -> Place:
        """Return the place of a key, or of the map when it does not say it."""
        return self.map[key].place if key in self.map else self.place

    def list(self, key: str) -> tuple["Found", ...]:
        """Return the items of the list at a key."""
        return self.map[key].items if key in self.map else ()

    def text(self, key: str) -> str | None:
        """Return the text at a key; None when there is none."""
        value = self.map[key].value if key in self.map else None
        return value if isinstance(value, str) else None

    def whole(self, key: str) -> int | None:
        """Return the whole number at a key; None when there is none."""
        value = self.map[key].value if key in self.map else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, key: str) -> bool | None:
        """Return whether a key is true or false; None when it is not said."""
        value = self.map[key].value if key in self.map else None
        return value if isinstance(value, bool) else None
