"""A database that comes to a slurmctld which has been up without one."""

import pytest

from sindplan.model.declaration import Declaration
from tests.preflight.found import OTHER, declaration, found, world_with
from tests.world import World

LATER = "sind/dev has run without its database, and slurmctld"


def version(slurm: str) -> tuple[World, Declaration, Declaration]:
    """Return a world with an image of that Slurm, and a cluster without and with a database."""
    return world_with(slurm_version=slurm), declaration(image=OTHER), declaration(image=OTHER, db={})


@pytest.mark.parametrize(
    ("slurm", "says"),
    [
        ("24.05.4", [("database", f"{LATER} 24.05.4 refuses one that comes later (CLUSTER ID MISMATCH).")]),
        ("24.11.5", [("database", f"{LATER} 24.11.5 refuses one that comes later (CLUSTER ID MISMATCH).")]),
        (
            "25.05.1",
            [
                (
                    "~database",
                    f"{LATER} 25.05.1 may refuse one that comes later (CLUSTER ID MISMATCH). The apply is taken back then.",
                )
            ],
        ),
        ("26.05.0", []),
        ("26.11.1", []),
    ],
)
def test_it_depends_on_slurm(slurm: str, says: list[tuple[str, str]]) -> None:
    world, without, with_db = version(slurm)
    assert world.apply(without).outcome.complete
    assert found(world, with_db) == says


def test_from_the_start_it_works_and_comes_back_with_its_volume() -> None:
    world, _, with_db = version("24.11.5")
    assert found(world, with_db) == []
    assert world.apply(with_db).outcome.complete
    world.engine.remove_container("sind-dev-db")
    assert found(world, with_db) == []


def test_with_its_volume_gone_it_is_another_database() -> None:
    world, _, with_db = version("24.11.5")
    assert world.apply(with_db).outcome.complete
    world.engine.remove_container("sind-dev-db")
    world.engine.remove_volume("sind-dev-db")
    assert ("database", f"{LATER} 24.11.5 refuses one that comes later (CLUSTER ID MISMATCH).") in found(world, with_db)


def test_slurm_that_nobody_manages_is_not_judged() -> None:
    world, _, _ = version("24.11.5")
    assert world.apply(declaration(image=OTHER, managed=False)).outcome.complete
    assert found(world, declaration(image=OTHER, managed=False, db={})) == []
