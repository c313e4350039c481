"""Nodes that do the same are not replaced all at once: somebody is there at every moment."""

import pytest

from tests.slurm.test_replacement import ids, replaced, submit, text
from tests.slurm.watching import away_together, changes, watch

pytestmark = pytest.mark.proof

# One column for each controller, asked at the same moment: whether somebody listens where slurmctld does.
LISTENS = """\
listens() {{ timeout 2 bash -c "exec 3<> /dev/tcp/$1/6817" 2> /dev/null && echo 1 || echo 0; }}
paste -d " " <(listens {0}) <(listens {1})"""
IN_SERVICE = {"idle", "mixed", "allocated", "completing"}


def test_a_pair_of_controllers_goes_one_after_the_other(lab):
    """At no moment both of them are away; the container of the second one is not stopped before the first is back."""
    realm = lab.realm()
    where = f"realms.{realm}.clusters.dev"
    lab.declare(text(realm, lab.image, workers=1) + f"[{where}.controller]\nbackup = true\n[{where}.submitter]\n")
    lab.apply()
    submitter = f"{realm}-dev-submitter"
    job = submit(lab, realm, "--hold", "--wrap", "hostname", node="submitter")
    addresses = [
        lab.inspect(f"{realm}-dev-{short}")["NetworkSettings"]["Networks"][f"{realm}-dev-net"]["IPAddress"]
        for short in ("controller", "controller-backup")
    ]
    watched = watch(lab, submitter, LISTENS.format(*addresses), "1 1")
    before = ids(lab, realm)
    both = [f"--replace={realm}/dev/node/{short}" for short in ("controller", "controller-backup")]

    with lab.hearing() as events:
        lab.apply(*both)

    seen = changes(events, f"{realm}-dev-")
    lab.settled()
    assert replaced(before, ids(lab, realm)) == {"controller", "controller-backup"}
    told = [(change.node, change.runs, change.id == before[f"{realm}-dev-{change.node}"]) for change in seen]
    first, second = told[0][0], told[-1][0]
    assert told == [(first, False, True), (first, True, False), (second, False, True), (second, True, False)]
    lab.wait(submitter, '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')
    assert lab.job(realm, job) == "PENDING"
    # Each was seen to be away, so the looks were close enough to see both.
    assert {*watched.lines()} == {"1 1", "0 1", "1 0"}


@pytest.mark.parametrize("width", [1, 2])
def test_workers_are_replaced_in_turns_when_their_jobs_are_done(lab, width):
    """Slurm itself is asked all the time how many of them it cannot use: as many as are allowed, and never more."""
    realm = lab.realm()
    controller, allowed = f"{realm}-dev-controller", f"max_unavailable = {width}\n"
    lab.declare(text(realm, lab.image, workers=3, group=allowed))
    lab.apply()
    lab.settled()
    job = submit(lab, realm, "-w", "worker-1", "--wrap", "sleep 15")
    lab.wait(controller, f"scontrol show job {job} | grep -q JobState=RUNNING")
    sample = """sinfo -hN -o %N=%T | sort -u | paste -sd " " """
    watched = watch(lab, controller, sample, ".*worker-2=idle.*")
    before = ids(lab, realm)
    lab.declare(text(realm, lab.image, workers=3, group=f'{allowed}tmp_size = "300m"'))

    with lab.hearing() as events:
        applied = lab.apply(seconds=240)

    assert f"when its jobs are done: {job}." in applied.err
    seen = changes(events, f"{realm}-dev-")
    lab.settled()
    assert replaced(before, ids(lab, realm)) == {"worker-0", "worker-1", "worker-2"}
    assert 1 <= away_together(seen) <= width
    looks = [dict(pair.split("=") for pair in line.split()) for line in watched.lines()]
    unused = [{name for name, state in look.items() if state not in IN_SERVICE} for look in looks]
    assert set().union(*unused) == {"worker-0", "worker-1", "worker-2"}
    assert max(len(away) for away in unused) == width, [look for look in looks if {*look.values()} - IN_SERVICE]
    assert lab.job(realm, job) == "COMPLETED"
    ran = lab.read(controller, "srun", "-N", "3", "hostname").split()
    assert sorted(ran) == ["worker-0", "worker-1", "worker-2"]
    assert "300M" in lab.read(f"{realm}-dev-worker-1", "df", "-h", "/tmp")
