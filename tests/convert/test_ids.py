"""The ids that sind gives."""

from sindplan.convert.ids import Numbered, automatic_ids


def free(*names: str) -> list[Numbered]:
    """Return users or groups that say no id."""
    return [Numbered(name, is_said=False, number=None) for name in names]


def test_users_come_first_and_nobody_gets_what_somebody_says() -> None:
    users = [*free("b", "a"), Numbered("c", is_said=True, number=1001), Numbered("d", is_said=True, number=None)]
    groups = [*free("y"), Numbered("x", is_said=True, number=1003), *free("z")]

    assert automatic_ids(users, groups) == ({"b": 1000, "a": 1002}, {"y": 1004, "z": 1005})


def test_nobody_gets_the_ids_that_mean_nobody() -> None:
    said = [Numbered(str(number), is_said=True, number=number) for number in range(1000, 65534)]

    assert automatic_ids([*said, *free("a")], free("b")) == ({"a": 65536}, {"b": 65537})
