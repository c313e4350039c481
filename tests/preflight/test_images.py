"""What images lack: a case for each finding, on the simulated engine."""

from typing import Any

import pytest

from sindplan.model.people import FIRST_ID
from tests.preflight.found import OTHER, declaration, found, without, world_with
from tests.world import IMAGE_FACTS, new_world


@pytest.mark.parametrize("cluster", [{}, {"db": {}, "api": {}}, {"identity": "client_ids"}, {"identity": "nss_slurm"}])
def test_the_usual_image_lacks_nothing(cluster: dict[str, Any]) -> None:
    assert (
        found(new_world(), declaration(controller={"backup": True}, submitter={}, users={"alice": {}}, **cluster)) == []
    )


@pytest.mark.parametrize(
    ("facts", "cluster", "node", "lack"),
    [
        (
            {"plugins": without("plugins", "auth_slurm")},
            {"identity": "client_ids"},
            "controller",
            "Slurm's plugin auth/slurm, which identity client_ids needs",
        ),
        (
            {"plugins": without("plugins", "auth_jwt")},
            {"api": {}},
            "api",
            "Slurm's plugin auth/jwt, which the REST API's tokens need",
        ),
        (
            {"nss_slurm": False},
            {"identity": "nss_slurm"},
            "worker-0",
            "libnss_slurm, which identity nss_slurm needs (Debian does not package it)",
        ),
        *(
            (
                {"daemons": without("daemons", daemon)},
                cluster,
                node,
                f"the daemon {daemon}, which the role {role} needs",
            )
            for daemon, role, node, cluster in (
                ("slurmctld", "controller", "controller", {}),
                ("slurmd", "worker", "worker-0", {}),
                ("mariadbd", "db", "db", {"db": {}}),
                ("slurmdbd", "db", "db", {"db": {}}),
                ("slurmrestd", "api", "api", {"api": {}}),
                ("sackd", "submitter", "submitter", {"identity": "client_ids", "submitter": {}}),
            )
        ),
    ],
)
def test_what_a_node_needs_of_its_image(facts: dict[str, Any], cluster: dict[str, Any], node: str, lack: str) -> None:
    findings = found(world_with(**facts), declaration(**{**cluster, "image": OTHER}))

    # Said once for an image, whatever else uses it.
    assert findings == [("image", f"sind/dev/node/{node}: '{OTHER}' lacks {lack}.")]


@pytest.mark.parametrize(
    ("facts", "cluster"),
    [
        ({"plugins": without("plugins", "auth_slurm")}, {"identity": "local", "api": {}}),
        ({"plugins": without("plugins", "auth_jwt")}, {"api": {"managed": False}}),
        ({"plugins": without("plugins", "auth_jwt")}, {"identity": "client_ids"}),
        ({"nss_slurm": False}, {"identity": "nss_slurm", "workers": {"a": {"managed": False}}}),
        ({"daemons": ["sshd"]}, {"managed": False}),
        ({"daemons": without("daemons", "mariadbd", "slurmdbd")}, {"db": {"managed": False}}),
        ({"daemons": without("daemons", "sackd")}, {"submitter": {}}),
        # An earlier sindplan's label says nothing of daemons.
        ({"daemons": []}, {"db": {}, "api": {}}),
    ],
)
def test_what_nobody_needs_is_not_missed(facts: dict[str, Any], cluster: dict[str, Any]) -> None:
    assert found(world_with(**facts), declaration(**{**cluster, "image": OTHER})) == []


def test_names_in_jobs_under_client_ids() -> None:
    findings = found(world_with(nss_slurm=False), declaration(image=OTHER, identity="client_ids", users={"alice": {}}))

    assert findings == [
        (
            "~identity",
            (
                "The image of sind/dev's workers lacks libnss_slurm: jobs run with the right ids, but see numbers where names "
                "would be."
            ),
        )
    ]


def test_an_unmanaged_node_may_have_another_slurm_and_other_ids() -> None:
    world = world_with(slurm_version="24.11.5", uids={"slurm": [1, 1]})

    assert found(world, declaration(db={"managed": False, "image": OTHER})) == []
    assert [check for check, _ in found(world, declaration(db={"image": OTHER}))] == ["Slurm versions", "user ids"]


# Users


def test_users_and_groups_of_the_image() -> None:
    findings = found(
        new_world(),
        declaration(users={"munge": {}, "alice": {"uid": 64030}}, groups={"users": {}, "lab": {"gid": 65534}}),
    )

    assert findings == [
        ("users", "The user 'munge' of sind/dev is one of the image 'sindplan-node:26.05' already."),
        ("users", "The user 'alice' of sind/dev has the id 64030, which 'slurm' has in the image."),
        # What is of the image already is said once of a name, not of its private group too.
        ("users", "The group 'users' of sind/dev is one of the image 'sindplan-node:26.05' already."),
        ("users", "The group 'alice' of sind/dev has the id 64030, which 'slurm' has in the image."),
        ("users", "The group 'lab' of sind/dev has the id 65534, which 'nogroup' has in the image."),
    ]


def test_a_worker_with_another_image_may_have_other_users() -> None:
    world = world_with(users={**IMAGE_FACTS["users"], "ubuntu": FIRST_ID}, groups=IMAGE_FACTS["groups"])

    findings = found(world, declaration(users={"alice": {}}, workers={"a": {"image": OTHER}}))

    # Ids are assigned past those of the controller's image alone.
    assert findings == [
        ("users", f"The user 'alice' of sind/dev has the id {FIRST_ID}, which 'ubuntu' has in the image.")
    ]


def test_ids_that_were_given_are_not_given_again() -> None:
    world = new_world()
    assert world.apply(declaration(users={"alice": {}}, groups={"lab": {}})).outcome.complete
    wanted = declaration(users={"alice": {}, "bob": {"uid": 1000}}, groups={"lab": {}, "hpc": {"gid": 1001}})

    findings = [one for one in found(world, wanted) if one[0] == "users"]

    assert findings == [
        (
            "users",
            "In sind/dev 'alice' and 'bob' would have the user id 1000; ids that were given to somebody stay theirs.",
        ),
        (
            "users",
            "In sind/dev 'alice' and 'bob' would have the group id 1000; ids that were given to somebody stay theirs.",
        ),
        (
            "users",
            "In sind/dev 'hpc' and 'lab' would have the group id 1001; ids that were given to somebody stay theirs.",
        ),
    ]
