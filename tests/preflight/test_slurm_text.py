"""What Slurm would stumble over in the user's text: a case for each finding, on the simulated engine."""

from typing import Any

import pytest

from tests.preflight.found import declaration, found
from tests.world import NO_LIMITS, World, new_world


def said(text: Any, *, section: str = "main", world: World | None = None, **cluster: Any) -> list[tuple[str, str]]:
    wanted = declaration(slurm={section: text}, **cluster)
    return [one for one in found(world or new_world(), wanted) if one[0] != "~limits"]


@pytest.mark.parametrize(
    ("text", "line", "names", "title"),
    [
        ("PartitionName=x Nodes=worker-0,worker-3\n", 1, "worker-3", "PartitionName=x"),
        ("# hello\n\npartitionname=x nodes=worker-[2-3]\n", 3, "worker-2, worker-3", "PartitionName=x"),
        ("NodeSet=s Nodes=nobody\nPartitionName=x Nodes=s\n", 1, "nobody", "NodeSet=s"),
        ({"10-a": "MaxJobCount=3\n", "20-b": "PartitionName=x Nodes=worker-9\n"}, 1, "worker-9", "PartitionName=x"),
    ],
)
def test_partitions_of_workers_that_are_not_there(text: Any, line: int, names: str, title: str) -> None:
    assert said(text, workers={"a": {"count": 2}}) == [
        (
            "slurm.main",
            (
                f"sind/dev: line {line} of slurm.main names {names} in {title}, and there is no such worker: slurmctld would "
                "not start."
            ),
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "PartitionName=x Nodes=worker-[0-1]\n",
        "PartitionName=x Nodes=ALL\n",
        "PartitionName=x\n",
        "NodeName=far-[0-1] NodeAddr=10.9.9.9\nPartitionName=x Nodes=far-1,worker-0\n",
        "NodeSet=s Feature=gpu\nPartitionName=x Nodes=s\n",
        # Whatever that file has.
        "Include other.conf\nPartitionName=x Nodes=nobody\n",
        # Slurm itself will say what it thinks of it.
        "PartitionName=x Nodes=worker-[\n",
    ],
)
def test_partitions_of_workers_that_are_there(text: str) -> None:
    assert said(text, workers={"a": {"count": 2}}) == []


def test_a_worker_by_hand_is_none_of_slurms() -> None:
    findings = said("PartitionName=x Nodes=worker-0\n", workers={"a": {"managed": False}})

    assert [check for check, _ in findings] == ["slurm.main"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ProctrackType", "proctrack/cgroup"),
        ("TaskPlugin", "task/affinity,task/cgroup"),
        ("JobAcctGatherType", "jobacct_gather/cgroup"),
    ],
)
def test_cgroup_plugins_on_an_engine_without_cgroups(key: str, value: str) -> None:
    text = f"{key}={value}\n"

    findings = said(text, world=new_world(info=NO_LIMITS))

    assert findings[0] == (
        "slurm.main",
        (
            f"sind/dev: slurm.main sets {key}={value}, and this engine gives nodes no cgroup controllers: slurmd would not "
            "start."
        ),
    )
    assert not [what for _, what in said(text) if "cgroup controllers" in what]
    assert not [what for _, what in said(f"{key}=none\n", world=new_world(info=NO_LIMITS)) if "controllers" in what]


def test_gres_of_every_node() -> None:
    text = "NodeName=worker-0 Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n"

    assert said(text, section="gres") == [
        (
            "~slurm.gres",
            "sind/dev: line 2 of slurm.gres names no node, so it holds for every one; a slurmd that lacks its device gives up.",
        )
    ]


@pytest.mark.parametrize(
    ("key", "value", "item", "known"),
    [
        ("TaskPlugin", "task/affinity,task/nonesuch", "task/nonesuch", "affinity, cgroup, none"),
        ("MpiDefault", "pmix", "pmix", "none of this kind"),
        ("PriorityType", "priority/mine", "priority/mine", "basic, multifactor"),
    ],
)
def test_plugins_that_the_image_lacks(key: str, value: str, item: str, known: str) -> None:
    wanted = declaration(slurm={"main": f"{key}={value}\n"})

    (finding,) = new_world().prepare(wanted).findings

    assert finding.what == (
        f"sind/dev: slurm.main sets {key} to {item}, and the image 'sindplan-node:26.05' has no such plugin."
    )
    assert finding.fix == f"It has {known}."


@pytest.mark.parametrize(
    "text", ["MpiDefault=none\n", "TaskPlugin=affinity,task/cgroup\n", "SchedulerType=sched/backfill\n"]
)
def test_plugins_that_the_image_has(text: str) -> None:
    assert said(text) == []
