"""What a resource is, and what changing each of its fields costs.

Every field of a resource carries one mark in its metadata. The planner reads the marks and nothing else, so a new field
or a new kind needs no change to it.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar

from attrs import field, fields, frozen

from sindplan.model.address import Address


class Cost(Enum):
    """What a change of a field costs."""

    IN_PLACE = "in place"
    REPLACE = "replace"
    IGNORED = "ignored"
    """Not compared: chosen at creation and without meaning later, or not to be had from the engine."""


def _mark(cost: Cost) -> dict[str, Any]:
    return {"cost": cost}


IN_PLACE = _mark(Cost.IN_PLACE)
REPLACE = _mark(Cost.REPLACE)
IGNORED = _mark(Cost.IGNORED)


@frozen(kw_only=True)
class Resource:
    """One thing that exists or should exist. Subclasses are frozen attrs classes whose fields are all marked."""

    KIND: ClassVar[str]
    SHOWN: ClassVar[tuple[str, ...]] = ()
    """Fields that tell a reader something about a resource that comes."""
    FOLLOWS_POWER: ClassVar[bool] = False
    """Whether it comes up with the start of its host, and goes down with it."""
    SILENT: ClassVar[bool] = False
    """Whether it comes and goes with its host without a word."""

    @property
    def identity(self) -> str:
        """The engine's own id of it; empty for what has none."""
        return ""

    @property
    def made_by(self) -> str | None:
        """The token of the apply that made it, empty for what another tool made; None for what has no maker."""
        return None

    @property
    def removal(self) -> str:
        """The command with which a hand removes this very one; empty for what is no object of the engine's."""
        return ""

    @property
    def finished(self) -> bool:
        """Whether it was made to the end; an apply that is killed leaves halves."""
        return True

    @property
    def needs(self) -> frozenset[Address]:
        """Addresses that must exist before this, and outlive it."""
        return frozenset()

    @property
    def host(self) -> Address | None:
        """The node that carries this along: what starts or removes the node does it for this too."""
        return None

    @property
    def gone_with(self) -> frozenset[Address]:
        """Addresses that go when this does, where both do: a part of a plan has both."""
        return frozenset()

    @property
    def earlier(self) -> frozenset[Address]:
        """Addresses that are replaced before this, where both are."""
        return frozenset()

    def lane(self, before: "Resource") -> tuple[str, int] | None:  # noqa: ARG002 - as with `manner`
        """Return a name that it shares with its equals, and how many of those may be replaced at once; None for no limit."""
        return None

    def manner(self, before: "Resource") -> str:  # noqa: ARG002 - kinds that know several ask it
        """Return the manner in which this takes the place of `before`: a key of its kind's `replace`."""
        return ""

    @property
    def scope(self) -> Address | None:
        """The cluster this is rolled back with, when it is not the one in its address."""
        return None


@frozen(kw_only=True)
class EngineObject(Resource):
    """A resource that is one object of the engine.

    Attributes:
        id: The engine's id; empty for a volume, which has only its name.
        run: The token of the apply that made it.
    """

    REMOVED_WITH: ClassVar[str]
    """docker's command that removes one of the kind."""

    id: str = field(default="", metadata=IGNORED)
    run: str = field(default="", metadata=IGNORED)

    @property
    def removal(self) -> str:
        """By id: another may have the name by then."""
        return f"{self.REMOVED_WITH} {self.id[:12]}"

    @property
    def identity(self) -> str:
        """The id."""
        return self.id

    @property
    def made_by(self) -> str | None:
        """The token."""
        return self.run


State = Mapping[Address, Resource]


@frozen
class FieldChange:
    """A field that differs."""

    name: str
    before: object
    after: object
    cost: Cost


def difference(before: Resource, after: Resource) -> tuple[FieldChange, ...]:
    """Return the fields by which two resources of one kind differ, without those that are not compared."""
    return tuple(
        FieldChange(field.name, old, new, field.metadata["cost"])
        for field in fields(type(after))
        if field.metadata["cost"] is not Cost.IGNORED
        and (old := getattr(before, field.name)) != (new := getattr(after, field.name))
    )
