"""known_hosts: lines of others stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.kinds.known_host import edited, lines_of

OTHERS = """\
# by hand
github.com ssh-rsa AAAAB3
|1|hash=|hash= ssh-ed25519 AAAAC3

[bastion]:2222,10.0.0.1 ssh-ed25519 AAAAC3 a comment
@revoked * ssh-rsa AAAAB3
"""


def test_lines_are_added_changed_and_removed() -> None:
    text = f"{OTHERS}a.dev.sind.sind ssh-ed25519 OLD\nb.dev.sind.sind ssh-ed25519 B\n"

    found = edited(text, {"a.dev.sind.sind": "ssh-ed25519 NEW", "c": "ssh-ed25519 C"}, frozenset({"b.dev.sind.sind"}))

    assert found == f"{OTHERS}a.dev.sind.sind ssh-ed25519 NEW\nc ssh-ed25519 C\n"


def test_taking_out_what_was_put_in_leaves_others_as_they_were() -> None:
    added = edited(OTHERS, {"x": "ssh-ed25519 X"}, frozenset())

    assert edited(added, {}, frozenset({"x"})) == OTHERS


def test_changing_a_line_and_changing_it_back_leaves_all_as_it_was() -> None:
    text = f"a ssh-ed25519 OLD\n{OTHERS}b ssh-ed25519 B\n"

    changed = edited(text, {"a": "ssh-ed25519 NEW"}, frozenset())

    assert edited(changed, {"a": "ssh-ed25519 OLD"}, frozenset()) == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", {}),
        ("\n\n# x\n", {}),
        ("a ssh-ed25519 K\n", {"a": "ssh-ed25519 K"}),
        ("a ssh-ed25519 K", {"a": "ssh-ed25519 K"}),
        ("a ssh-ed25519 K \r\n", {"a": "ssh-ed25519 K"}),
        ("a ssh-ed25519 OLD\na ssh-ed25519 NEW\n", {"a": "ssh-ed25519 NEW"}),
        ("alone\n", {"alone": ""}),
    ],
)
def test_reading(text: str, lines: dict[str, str]) -> None:
    assert lines_of(text) == lines


HOSTS = st.sampled_from(["a", "b", "c", "d"])
KEYS = st.sampled_from(["ssh-ed25519 K1", "ssh-ed25519 K2"])


@given(st.dictionaries(HOSTS, KEYS), st.dictionaries(HOSTS, KEYS), st.frozensets(HOSTS))
def test_editing_is_what_it_says(before: dict[str, str], added: dict[str, str], removed: frozenset[str]) -> None:
    removed -= set(added)
    text = edited(edited("", before, frozenset()), added, removed)

    assert lines_of(text) == {host: key for host, key in (before | added).items() if host not in removed}
    assert edited(text, added, removed) == text
    assert len(text.splitlines()) == len(lines_of(text))
