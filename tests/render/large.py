"""Large plans in words, without the time that planning them takes."""

from attrs import evolve

from sindplan.model.address import Address
from sindplan.render.node_sets import NUMBERED
from sindplan.render.review import Review, review
from tests.strategies import declared
from tests.world import new_world

CLUSTER = {"image": "sindplan-node:26.05", "workers": {"cpu": {"count": 3}}}


def new_clusters(count: int) -> Review:
    """Return the plan of so many new clusters with three workers each."""
    clusters = {f"c{number}": {**CLUSTER, "subnet": f"10.{100 + number}.0.0/24"} for number in range(count)}
    declaration = declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})
    return review(new_world(seed=1).plan(declaration))


def grown(found: Review, workers: int) -> Review:
    """Return a plan in which as many workers are as the one with the number 1."""

    def numbered(text: str, number: int) -> str:
        return NUMBERED.sub(f"worker-{number}", text)

    def copies(texts: list[str]) -> range:
        return range(workers) if any("worker-1" in text for text in texts) else range(1)

    def kept(text: str) -> bool:
        return "worker-" not in text or "worker-1" in text

    entries = [
        evolve(entry, address=Address.parse(numbered(str(entry.address), number)))
        for entry in found.entries
        if kept(str(entry.address))
        for number in copies([str(entry.address)])
    ]
    names = {task.id: [numbered(task.id, number) for number in copies([task.id])] for task in found.tasks}
    tasks = [
        evolve(
            task,
            id=numbered(task.id, number),
            needs=tuple(
                dict.fromkeys(
                    name
                    for need in task.needs
                    for name in ([numbered(need, number)] if "worker-1" in task.id else names[need])
                )
            ),
            addresses=tuple(
                dict.fromkeys(
                    Address.parse(numbered(str(address), which))
                    for address in task.addresses
                    for which in ([number] if "worker-1" in task.id else copies([str(address)]))
                )
            ),
        )
        for task in found.tasks
        if kept(task.id)
        for number in copies([task.id])
    ]
    return evolve(found, entries=tuple(sorted(entries, key=lambda entry: entry.address)), tasks=tuple(tasks))
