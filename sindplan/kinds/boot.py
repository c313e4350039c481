"""What a node finds at its next boot, as far as hands may spoil it: units enabled and not masked, drop-ins, the relay's key.

All of it comes with the node (kinds.first_boot); later it is only looked at, and put back where it is missing. What else
lies in these places, and what drop-ins say, is not compared: another sindplan may have written another text.
"""

from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.boot_daemons import DROP_IN
from sindplan.kinds.controllers import writer
from sindplan.kinds.database import SQL_FILE, write_statements
from sindplan.kinds.evidence import BootEvidence, Evidence, MeshEvidence
from sindplan.kinds.first_boot import AUTHORIZED, UNITS, WANTS, FirstBoot, unit_entries
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.node_wanted import first_boot, units_of
from sindplan.kinds.run import Run
from sindplan.model.address import MESH, Address
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class NodeBoot(Resource):
    """What a node finds at its next boot.

    Attributes:
        units: Units that must run on the node.
        enabled: Daemons that systemd starts, without `.service`.
        masked: Units among those of the node that it must not start.
        drop_ins: Units to which sindplan has something to say, without `.service`.
        statements: Whether there is what MariaDB runs at each start, and cannot start without.
        relay: Whether the realm's relay may log in.
        boot: What its first boot found; None for a node as it was seen.
        authorized: The file of keys that may log in; None where there is none, or none was looked at.
    """

    KIND: ClassVar[str] = "boot"
    SILENT: ClassVar[bool] = True

    node: Address = field(metadata=IGNORED)
    units: tuple[str, ...] = field(default=(), metadata=IGNORED)
    enabled: tuple[str, ...] = field(metadata=IN_PLACE)
    masked: tuple[str, ...] = field(default=(), metadata=IN_PLACE)
    drop_ins: tuple[str, ...] = field(metadata=IN_PLACE)
    statements: bool = field(metadata=IN_PLACE)
    relay: bool = field(default=True, metadata=IN_PLACE)
    boot: FirstBoot | None = field(default=None, metadata=IGNORED)
    authorized: str | None = field(default=None, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The node, and the relay whose key it holds."""
        return frozenset({self.node, Address((self.node.realm, MESH, "relay"))})

    @property
    def host(self) -> Address | None:
        """The node, which is made with all of it."""
        return self.node

    def said_by(self, wanted: Resource | None) -> "NodeBoot":
        """Return it without what nobody asks for: users may enable more."""
        if not isinstance(wanted, NodeBoot):
            return self
        return evolve(
            self,
            enabled=tuple(unit for unit in self.enabled if unit in wanted.enabled),
            drop_ins=tuple(unit for unit in self.drop_ins if unit in wanted.drop_ins),
            statements=self.statements and wanted.statements,
        )


_SET = Step(
    "boot.set",
    "mending what it boots with",
    after=(
        *is_up("relay"),
        After("node.create", Where.BESIDE),
        # What MariaDB is told follows the password in slurmdbd.conf.
        After("file.write", Where.CLUSTER),
    ),
)

KIND = Kind(
    name="boot",
    resource=NodeBoot,
    update=dict.fromkeys(("enabled", "masked", "drop_ins", "statements", "relay"), (_SET,)),
    comes_with_host=True,
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield what the nodes should find."""
    for cluster in layout.clusters:
        for node in cluster.nodes:
            boot = first_boot(cluster, node)
            yield (
                cluster.address / "boot" / node.short,
                NodeBoot(
                    node=cluster.address / "node" / node.short,
                    units=units_of(cluster, node),
                    enabled=tuple(sorted(boot.daemons)),
                    drop_ins=tuple(sorted(_drop_ins(unit_entries(boot)))),
                    statements="mariadb" in boot.daemons,
                    boot=boot,
                ),
            )


def _drop_ins(entries: list[Entry]) -> Iterator[str]:
    for entry in entries:
        folder = entry.path.removeprefix(f"{UNITS}/").partition("/")[0]
        if folder.endswith(".service.d"):
            yield folder.removesuffix(".service.d")


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield what the nodes that sindplan made would find."""
    meshes = {mesh.realm: mesh for mesh in evidence.meshes}
    for cluster in evidence.clusters:
        for short, boot in cluster.boots.items():
            yield (
                cluster.address / "boot" / short,
                NodeBoot(
                    node=cluster.address / "node" / short,
                    enabled=tuple(sorted(boot.enabled)),
                    masked=tuple(sorted(boot.masked)),
                    drop_ins=tuple(sorted(boot.drop_ins)),
                    statements=boot.statements,
                    relay=_relay_may_log_in(boot, meshes.get(cluster.realm)),
                    authorized=boot.authorized,
                ),
            )


def _relay_may_log_in(boot: BootEvidence, mesh: MeshEvidence | None) -> bool:
    if mesh is None or (mesh.relay_key is None and mesh.volume is not None):
        # Its key is on the volume, and nobody is there to show it.
        return True
    key = (mesh.relay_key or "").strip()
    return bool(key) and key in (boot.authorized or "").splitlines()


def put(run: Run, action: Action) -> None:
    """Put back what is missing, or (when a run is taken back) take it away again."""
    (change,) = action.changes
    before, after = change.before, change.after
    assert isinstance(before, NodeBoot)
    assert isinstance(after, NodeBoot)
    node = run.id(after.node)
    run.engine.put_files(node, list(_entries(run, before, after)))
    if after.boot is not None and after.statements and not before.statements:
        write_statements(run, writer(run, after.node.scope), node, after.boot.owners["mysql"][1])
    container = run.engine.inspect_container(node)
    if container is None or container.state != "running":
        # Its next boot reads them.
        return
    if after.boot is not None:
        run.slurm.reload_units(node, sorted({*after.units, *before.masked}))
        return
    run.slurm.remove_files(node, list(_gone(before, after)))
    run.slurm.reload_units(node, ())


def _entries(run: Run, before: NodeBoot, after: NodeBoot) -> Iterator[Entry]:
    """Yield what is to be there; a stopped node cannot lose a mask, so the unit's own file takes its place."""
    if after.boot is not None:
        yield from unit_entries(after.boot)
        for unit in before.masked:
            yield Entry(path=f"{UNITS}/{unit}", kind="link", link=f"/usr/lib/systemd/system/{unit}")
    for unit in () if after.boot is not None else after.masked:
        yield Entry(path=f"{UNITS}/{unit}", kind="link", link="/dev/null")
    if after.relay and not before.relay:
        kept = before.authorized or ""
        text = (
            kept
            + ("\n" if kept and not kept.endswith("\n") else "")
            + run.known.relay_keys[after.node.realm].strip()
            + "\n"
        )
        yield Entry(path=AUTHORIZED.rpartition("/")[0], kind="dir", mode=0o700)
        yield Entry(path=AUTHORIZED, content=text.encode(), mode=0o600)
    elif not after.relay and after.authorized is not None:
        yield Entry(path=AUTHORIZED, content=after.authorized.encode(), mode=0o600)


def _gone(before: NodeBoot, after: NodeBoot) -> Iterator[str]:
    yield from (f"{WANTS}/{unit}.service" for unit in sorted({*before.enabled} - {*after.enabled}))
    yield from (f"{UNITS}/{unit}.service.d/{DROP_IN}" for unit in sorted({*before.drop_ins} - {*after.drop_ins}))
    if before.statements and not after.statements:
        yield SQL_FILE
    if before.relay and not after.relay and after.authorized is None:
        yield AUTHORIZED


PERFORM = {"boot.set": put}
