"""The steps in which a realm's DNS server or relay is replaced, as data, and what whoever uses them waits for.

As with nodes (`replacing`): the successor is made beside the old container, takes its place, and only when it has proved that it
works does the old one go. Nodes and records wait until that is over: a mesh that fails leaves the clusters as they are.
"""

from collections.abc import Mapping

from attrs import frozen

from sindplan.model.kind import After, Phase, Step, Where


@frozen(kw_only=True)
class MeshSteps:
    """What can become of a container of the mesh beside its being made and removed.

    Attributes:
        replace: Steps by manner, for `Kind.replace`.
        update: Steps by field that tells of a replacement which did not finish, or is taken back; for `Kind.update`.
    """

    replace: Mapping[str, tuple[Step, ...]]
    update: Mapping[str, tuple[Step, ...]]


def mesh_steps(kind: str, *, before: tuple[After, ...], prove_after: tuple[After, ...] = ()) -> MeshSteps:
    """Return the steps of a kind.

    Args:
        before: What its replacement waits for.
        prove_after: What its proof waits for beside that.
    """
    prove = Step(f"{kind}.prove", "waiting until it answers", after=prove_after)
    return MeshSteps(
        replace={
            "plain": (
                Step(f"{kind}.succeed", "making its successor", after=before),
                Step(f"{kind}.swap", "changing over"),
                prove,
                Step(f"{kind}.discard", "removing the old container"),
            )
        },
        update={
            "successor": (Step(f"{kind}.restore", "putting the old container back"),),
            "name": (Step(f"{kind}.rename", "renaming"),),
            "aside": (prove, Step(f"{kind}.forget", "removing the old container", Phase.REMOVE)),
        },
    )


def is_up(*kinds: str) -> tuple[After, ...]:
    """Return what who needs containers of the mesh waits for: they run, and are not being replaced."""
    return tuple(
        After(f"{kind}.{verb}", Where.NEEDED) for kind in kinds for verb in ("start", "discard", "rename", "restore")
    )
