"""What was reviewed is what is done: what `apply` demands of a plan made now, be it of a saved plan or of a digest."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, evolve, field, frozen

from sindplan.engine.port import Engine
from sindplan.errors import SindplanError
from sindplan.kinds.cluster_record import ClusterRecord, renew
from sindplan.kinds.known_host import KnownHost
from sindplan.kinds.registry import desired
from sindplan.model.address import Address
from sindplan.model.facts import Facts
from sindplan.model.kind import Operation
from sindplan.model.layout import lay_out
from sindplan.model.resource import Resource, State
from sindplan.plan.plan import Change
from sindplan.preflight.finding import Severity
from sindplan.render.document import change_digest, resource_change
from sindplan.saved import LOSSES, SavedPlan, digest_of, image_ids, records_of
from sindplan.workflow import Prepared


@frozen
class Reviewed:
    """What was reviewed, and must be what is done.

    Attributes:
        digest: Of the plan that was approved.
        saved: The plan itself, when there is a file of it.
    """

    digest: str
    saved: SavedPlan | None = None

    def check(self, prepared: Prepared) -> str:
        """Demand that a plan made now does what was reviewed, or less.

        Returns:
            A sentence about what is done already; empty when nothing is.

        Raises:
            SindplanError: It is another plan; the message says by what.
        """
        if self.saved is None:
            found = digest_of(prepared)
            # That nothing is to be done needs no approval: a pipeline may run twice.
            if found != self.digest and not prepared.plan.empty:
                raise SindplanError(
                    f"The plan is {found} now, not {self.digest}, which was approved.",
                    "Nothing was changed. Review the plan that is shown, then approve it by its digest.",
                )
            return ""
        if self.saved.engine != prepared.engine.engine_id:
            raise SindplanError(
                f"{self.saved.path} was made for another Docker Engine than the one at {prepared.engine.address}.",
                "Set DOCKER_HOST or the docker context to that one, or make a plan for this one.",
            )
        moved = [] if prepared.plan.empty else [*_moved(self.saved, prepared)]
        if moved:
            raise SindplanError(
                f"{self.saved.path} was made from what is not so any more:\n"
                + "\n".join(f"    {line}" for line in moved),
                "Nothing was changed. Make and review a new plan: sindplan plan --out FILE",
            )
        done = len(self.saved.changes) - len(prepared.plan.changes)
        return f"{done} of {len(self.saved.changes)} changes of the plan are made already." if done > 0 else ""

    def spend(self, engine: Engine, prepared: Prepared) -> None:
        """See to it that the plan, which was executed, does nothing another time. The realms' locks must be held."""
        if self.saved is None:
            return
        written = {
            change.address.scope for change in prepared.plan.changes if isinstance(change.resource, ClusterRecord)
        }
        for cluster in prepared.before.evidence.clusters:
            if cluster.address not in written:
                renew(engine, cluster.address, cluster.records)


def _moved(saved: SavedPlan, prepared: Prepared) -> Iterator[str]:
    """Yield what is not as it was when a plan was made, a line each."""
    images = image_ids(prepared)
    same_in_the_end = _SameInTheEnd(saved, prepared)
    for cluster, record in records_of(prepared).items():
        if saved.records.get(cluster) != record:
            yield f"{cluster}: another apply has been made since, this plan's own or somebody else's."
    digests = {}
    for found in prepared.plan.changes:
        change = resource_change(found, images)
        digests[change["address"]] = change["sindplan"]["digest"]
        was = saved.changes.get(change["address"])
        if was is None:
            what = "/".join(change["change"]["actions"])
            yield f"{found.address}: would be changed ({what}) by a plan made now, and is not in this one."
        else:
            yield from _otherwise(was, change, partial(same_in_the_end, found))
    all_of_it = digests == {address: change["sindplan"]["digest"] for address, change in saved.changes.items()}
    if all_of_it and saved.digest != digest_of(prepared):
        yield "The digest that the file shows is not that of what it does."
    for finding in prepared.findings:
        if finding.check in LOSSES and finding.severity is Severity.WARNS and finding.what not in saved.losses:
            yield f"{finding.what}"


def _otherwise(was: Mapping[str, Any], now: Mapping[str, Any], is_same: Callable[[], bool]) -> Iterator[str]:
    """Yield what differs between a change that was reviewed and the one that a plan made now has.

    Args:
        is_same: Says of one with another digest whether it makes the same in the end.
    """
    address = now["address"]
    if was["sindplan"]["id"] != now["sindplan"]["id"] and was["change"]["before"] is not None:
        yield f"{address}: it is another object than it was, made anew since."
    elif was["sindplan"]["digest"] != now["sindplan"]["digest"]:
        if not is_same():
            yield from _differing(address, was["change"], now["change"])
    elif [was["change"].get("actions"), was["sindplan"].get("text")] != [
        now["change"]["actions"],
        now["sindplan"]["text"],
    ]:
        # The digest is of what is done; whoever reviewed the file saw these.
        yield f"{address}: what the file shows of it is not what it does."


@define
class _SameInTheEnd:
    """Says whether something is made as it was reviewed, though an apply that was killed has left less to do or another way to it.

    The engine may have given addresses since, which stand as words in a plan that was made before there was a network. And what was
    begun is finished, or made anew where it was never started.
    """

    saved: SavedPlan
    prepared: Prepared
    _wanted: tuple[State, State] | None = field(default=None, init=False)

    def __call__(self, change: Change) -> bool:
        """Say it of a change of a plan made now."""
        if change.operation is not Operation.CREATE and not self._finishes(change):
            return False
        if self._wanted is None:
            facts = self.prepared.before.facts()
            self._wanted = self._desired(facts), self._desired(_without_networks(facts))
        now, then = (self._made(change, state.get(change.address)) for state in self._wanted)
        # What this plan makes of it besides must make no difference, or nothing would follow.
        reviewed = self.saved.changes[str(change.address)]["sindplan"]["digest"]
        return now == self._made(change, change.after) and then == reviewed

    def _finishes(self, change: Change) -> bool:
        """Say whether what was to be made is there, and only lacks what comes with its making."""
        match change.operation:
            case Operation.UPDATE if isinstance(change.after, KnownHost):
                # The line of a node that was never started names a key that nobody has.
                return any(self._finishes(other) for other in self._of(change.after.node))
            case Operation.UPDATE:
                return all(field.before is False and field.after is True for field in change.fields)
            case Operation.REPLACE:
                return any(field.name == _MADE and field.before is False for field in change.fields)
            case _:
                return False

    def _of(self, address: Address) -> list[Change]:
        return [change for change in self.prepared.plan.changes if change.address == address]

    def _made(self, change: Change, resource: Resource | None) -> str:
        """Return the digest of a change that makes a resource from nothing; empty when there is none."""
        if resource is None:
            return ""
        made = evolve(change, operation=Operation.CREATE, before=None, after=resource, fields=())
        return change_digest(made, image_ids(self.prepared))

    def _desired(self, facts: Facts) -> State:
        return desired(lay_out(self.saved.declaration, facts, self.saved.options.replace))


_MADE = "made"
"""False of a node whose container is there and was never started: there is nothing in it."""


def _without_networks(facts: Facts) -> Facts:
    return evolve(
        facts,
        clusters={at: evolve(cluster, subnet="", addresses={}) for at, cluster in facts.clusters.items()},
        meshes={realm: evolve(mesh, subnet="", dns_address="") for realm, mesh in facts.meshes.items()},
    )


def _differing(address: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a change that are not what they were; of texts only that they differ."""
    if was.get("actions") != now["actions"]:
        yield f"{address}: {'/'.join(map(str, was.get('actions', ())))} -> {'/'.join(now['actions'])}."
        return
    told = False
    for side, when in (("before", "as it is"), ("after", "as it is to be")):
        old, new = was[side] or {}, now[side] or {}
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                told = True
                yield f"{address}: {name}, {when}: {_brief(old.get(name))} -> {_brief(new.get(name))}"
    if not told:
        yield f"{address}: its image, or a text that is not shown, is another."


_BRIEF = 60


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _BRIEF else "(another text)"
