"""Users and groups come and go in place: no container is touched for them, and every id stays what it was."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.kinds.boot_people import HOMES_FILE, USERS_FILE
from sindplan.model.kind import Operation
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, new_world

NODES = ("controller", "submitter", "worker-0")


def declaration(users, **more):
    cluster = {"image": IMAGE, "submitter": {}, "users": {name: {} for name in users}, **more}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": cluster}}}})


def text(world, short, path=USERS_FILE):
    return (world.engine.read(f"sind-dev-{short}", path) or b"").decode()


def ids(world, short="controller"):
    return dict(line.split()[1:3] for line in text(world, short).splitlines() if line.startswith("u "))


def containers(world):
    return {summary.name: summary.id for summary in world.engine.containers()}


def test_a_user_is_added_everywhere_without_touching_a_container():
    world = new_world()
    world.apply(declaration(["carol"]))
    before = containers(world)
    wanted = declaration(["alice", "carol"])

    plan = world.plan(wanted)
    assert {change.operation for change in plan.changes} == {Operation.UPDATE}
    assert {str(change.address) for change in plan.changes} == {
        "sind/dev/record",
        *(f"sind/dev/people/{short}" for short in NODES),
    }
    world.apply(wanted)

    assert containers(world) == before
    assert world.plan(wanted).changes == ()
    # Who was there keeps the id, though the new name comes first.
    for short in NODES:
        assert ids(world, short) == {"alice": "1001:1001", "carol": "1000:1000"}
    assert "/home/alice" in text(world, "controller", HOMES_FILE)
    assert text(world, "worker-0", HOMES_FILE) == ""


def test_a_new_node_has_all_of_them_and_says_so():
    world = new_world()
    world.apply(declaration(["carol"]))
    world.apply(declaration(["alice", "carol"]))
    world.apply(declaration(["alice", "carol"], workers={"default": {"count": 2}}))

    assert ids(world, "worker-1") == {"alice": "1001:1001", "carol": "1000:1000"}
    found = world.engine.inspect_container("sind-dev-worker-1")
    assert found is not None
    assert found.labels["sind.users"] == "alice:1001:1001 carol:1000:1000"


def test_a_user_who_works_is_not_taken_away():
    world = new_world()
    world.apply(declaration(["alice", "carol"]))
    before = world.snapshot()
    world.machine.working = {"alice"}

    applied = world.apply(declaration(["carol"]))

    assert applied.outcome.failed
    world.machine.working = set()
    assert world.snapshot() == before
    assert not world.apply(declaration(["carol"])).outcome.failed
    assert ids(world) == {"carol": "1001:1001"}


def test_users_on_the_controllers_can_be_asked_for_later():
    world = new_world()
    world.apply(declaration(["alice"], identity="client_ids"))
    assert text(world, "controller") == ""

    world.apply(declaration(["alice"], identity="client_ids", controller_users=True))

    assert ids(world) == {"alice": "1000:1000"}
    world.apply(declaration(["alice"], identity="client_ids"))
    assert text(world, "controller") == ""
    assert "/home/alice" in text(world, "controller", HOMES_FILE)


def test_an_id_is_not_changed():
    world = new_world()
    world.apply(declaration(["alice"]))
    other = declared(
        {
            "version": 1,
            "name": "lab",
            "realms": {
                "sind": {"clusters": {"dev": {"image": IMAGE, "submitter": {}, "users": {"alice": {"uid": 2000}}}}}
            },
        }
    )

    prepared = world.prepare(other)

    assert prepared.blocked
    assert "has the id 1000 and would get 2000" in prepared.findings[0].what


def test_what_a_hand_changed_is_set_back():
    world = new_world()
    world.apply(declaration(["alice"]))
    world.engine.write("sind-dev-worker-0", USERS_FILE, b"u mallory 1000:1000\n")

    (change,) = world.plan(declaration(["alice"])).changes
    assert str(change.address) == "sind/dev/people/worker-0"
    world.apply(declaration(["alice"]))
    assert ids(world, "worker-0") == {"alice": "1000:1000"}


@settings(SETTINGS, max_examples=30)
@given(st.lists(st.sets(st.sampled_from(["alice", "bob", "carol", "dave", "eve"]), min_size=1), min_size=2, max_size=5))
def test_ids_stay_over_any_history(histories):
    world = new_world()
    given_ids = {}
    for users in histories:
        world.apply(declaration(sorted(users)))
        assert world.plan(declaration(sorted(users))).changes == ()
        now = ids(world)
        assert now.keys() == users
        assert len(set(now.values())) == len(now)
        kept = {name: number for name, number in given_ids.items() if name in now}
        assert {name: now[name] for name in kept} == kept
        given_ids = now
