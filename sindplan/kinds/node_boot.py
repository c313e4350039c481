"""Bringing a node up: its container is started, its units are waited for, and its daemons have read their files then."""

from sindplan.kinds import config
from sindplan.kinds.controllers import with_failback
from sindplan.kinds.node_resource import Node
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address


def bring_up(run: Run, address: Address, node: Node) -> None:
    """Start a node and wait until what must run on it does."""
    container = run.id(address)

    def boot() -> None:
        run.engine.start(container)
        run.slurm.boot(container, node.units, run.wait)

    if address.name == names.CONTROLLER:
        with_failback(run, address.scope, boot)
    else:
        boot()
    settle(run, address, node)


def settle(run: Run, address: Address, node: Node) -> None:
    """Take away the marks of the daemons that have read their files with this start."""
    for daemon in config.MARKS:
        if f"{daemon}.service" not in node.units:
            continue
        controller = run.known.ids.get(address.scope / "node" / names.CONTROLLER, "")
        through = run.id(address) if daemon == "slurmctld" else controller
        container = run.engine.inspect_container(through)
        if container is not None and container.state == "running":
            config.settle(run, through, daemon)
