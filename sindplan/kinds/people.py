"""Users and groups on the nodes: systemd's own files say them, and its own tools make them (systemd-sysusers(8)).

A node brings its users along. On one that exists they come and go in place; a container's labels cannot follow.
"""

from collections.abc import Iterator
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.boot_people import HOMES_FILE, USERS_FILE, homes_text, users_text
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.people import ids_in
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class NodePeople(Resource):
    """The users and groups of a node.

    Attributes:
        content: Lines of sysusers.d(5).
        homes: Lines of tmpfiles.d(5), on the node that makes homes.
    """

    KIND: ClassVar[str] = "people"
    BY_BOOT: ClassVar[bool] = False

    node: Address = field(metadata=IGNORED)
    content: str = field(metadata=IN_PLACE)
    homes: str = field(default="", metadata=IN_PLACE)

    @property
    def needs(self) -> frozenset[Address]:
        """The node."""
        return frozenset({self.node})

    @property
    def host(self) -> Address | None:
        """The node, which brings them along."""
        return self.node


_SET = Step(
    "people.set",
    "making users",
    after=(
        After("node.create", Where.NEEDED),
        After("node.start", Where.NEEDED),
        After("node.power-on", Where.NEEDED),
    ),
)

KIND = Kind(
    name="people",
    resource=NodePeople,
    create=(_SET,),
    update=dict.fromkeys(("content", "homes"), (_SET,)),
    delete=(Step("people.remove", "removing users", Phase.REMOVE),),
    comes_with_host=True,
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the users and groups of the nodes that should know them."""
    for cluster in layout.clusters:
        text = users_text(cluster.people)
        for node in cluster.nodes:
            homes = homes_text(cluster.people) if node.short == names.CONTROLLER else ""
            content = text if node.knows_users else ""
            if content or homes:
                address = cluster.address / "people" / node.short
                yield address, NodePeople(node=cluster.address / "node" / node.short, content=content, homes=homes)


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the users and groups of the nodes that have any."""
    for cluster in evidence.clusters:
        for short, (users, homes) in cluster.people.items():
            address = cluster.address / "people" / short
            yield address, NodePeople(node=cluster.address / "node" / short, content=users, homes=homes)


def change(run: Run, action: Action) -> None:
    """Write a node's files, and have systemd make of them what they say; users that left are removed, their homes stay."""
    (change_,) = action.changes
    before, after = change_.before, change_.after
    old = before.content if isinstance(before, NodePeople) else ""
    new = (
        after
        if isinstance(after, NodePeople)
        else NodePeople(node=change_.resource.host or change_.address, content="")
    )
    container = run.id(new.node)
    texts = {USERS_FILE: new.content, HOMES_FILE: new.homes}
    found = run.engine.inspect_container(container)
    runs = found is not None and found.state == "running"
    # Nothing can be removed from a container that does not run; an empty file says as little as none.
    entries = [Entry(path=path, content=text.encode()) for path, text in texts.items() if text or not runs]
    run.engine.put_files(container, entries)
    if not runs:
        # Its next boot reads them.
        return
    gone = [path for path, text in texts.items() if not text]
    was, now = ids_in(old), ids_in(new.content)
    run.slurm.set_people(
        container,
        users=now.users,
        gone_users=sorted(was.users.keys() - now.users.keys()),
        gone_groups=sorted(was.groups.keys() - now.groups.keys()),
        gone_files=gone,
    )


PERFORM = {"people.set": change, "people.remove": change}
