"""The Corefile: lines of others stay byte for byte, in their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.corefile import corefile, records_of, with_records

# As sind v0.11 wrote it.
SINDS = """\
sind.sind:53 {
    hosts {
        172.20.0.3 controller.t4.sind.sind
        172.20.0.7 worker-0.t4.sind.sind
        172.20.0.6 worker-1.t4.sind.sind
        172.20.0.5 worker-2.t4.sind.sind
        172.20.0.4 worker-3.t4.sind.sind
        fallthrough
    }
    reload
    log
    errors
}

.:53 {
    forward . /etc/resolv.conf
    log
    errors
}
"""


def test_our_file_is_sinds() -> None:
    assert corefile("sind", records_of(SINDS)) == SINDS


def test_records_of_sinds_file() -> None:
    assert records_of(SINDS) == {
        "controller.t4.sind.sind": "172.20.0.3",
        "worker-0.t4.sind.sind": "172.20.0.7",
        "worker-1.t4.sind.sind": "172.20.0.6",
        "worker-2.t4.sind.sind": "172.20.0.5",
        "worker-3.t4.sind.sind": "172.20.0.4",
    }


def test_a_record_is_added_before_the_rest_of_the_block() -> None:
    found = with_records("sind", SINDS, {"a.dev.sind.sind": "10.0.0.9"}, frozenset())

    assert found == SINDS.replace("        fallthrough\n", "        10.0.0.9 a.dev.sind.sind\n        fallthrough\n")


def test_a_record_is_changed_in_its_place_and_another_removed() -> None:
    found = with_records("sind", SINDS, {"worker-0.t4.sind.sind": "10.0.0.9"}, frozenset({"worker-2.t4.sind.sind"}))

    assert found == SINDS.replace("172.20.0.7", "10.0.0.9").replace("        172.20.0.5 worker-2.t4.sind.sind\n", "")


ODD = """\
# by hand
sind.sind:53 {
  log
\thosts   {
      # a comment
\t172.20.0.3\tcontroller.t4.sind.sind
      10.0.0.1 two names.of.one
      fe80::1 six.sind.sind
      ttl 5
    fallthrough
      }
}
other. {
    hosts /etc/more {
       10.9.9.9 elsewhere
    }
}
"""


def test_what_others_wrote_stays_as_it_is() -> None:
    added = with_records("sind", ODD, {"a.b.sind.sind": "10.0.0.2"}, frozenset())

    assert added == ODD.replace("    fallthrough\n", "        10.0.0.2 a.b.sind.sind\n    fallthrough\n")
    assert with_records("sind", added, {}, frozenset({"a.b.sind.sind"})) == ODD
    assert records_of(ODD) == {"controller.t4.sind.sind": "172.20.0.3"}


@pytest.mark.parametrize("text", ["", "\n", "nonsense\n", "hosts\n", "x { y }\n", "#hosts {\n10.0.0.1 a\n}\n", "\0"])
def test_a_file_without_a_block_is_made_anew(text: str) -> None:
    assert records_of(text) == {}
    assert with_records("r", text, {"a": "10.0.0.1"}, frozenset()) == corefile("r", {"a": "10.0.0.1"})


def test_a_block_that_does_not_end_loses_nothing() -> None:
    text = "x {\n hosts {\n 10.0.0.1 a"

    assert records_of(with_records("r", text, {"b": "10.0.0.2"}, frozenset())) == {"a": "10.0.0.1", "b": "10.0.0.2"}


NAMES = st.sampled_from([f"{short}.{cluster}.r.sind" for short in "abc" for cluster in ("x", "y")])
ADDRESSES = st.integers(0, 255).map("10.0.0.{}".format)
RECORDS = st.dictionaries(NAMES, ADDRESSES, max_size=6)


@given(RECORDS, RECORDS, st.frozensets(NAMES))
def test_editing_is_what_it_says(before: dict[str, str], added: dict[str, str], removed: frozenset[str]) -> None:
    removed -= set(added)
    text = with_records("r", corefile("r", before), added, removed)

    assert records_of(text) == {name: to for name, to in (before | added).items() if name not in removed}
    # Again is nothing more, and the rest is untouched.
    assert with_records("r", text, added, removed) == text
    assert [line for line in text.splitlines() if ".r.sind" not in line] == corefile("r", {}).splitlines()


@given(st.text("h osts{}\n\t10.a#", max_size=60), RECORDS)
def test_no_text_is_too_odd(text: str, added: dict[str, str]) -> None:
    assert added.items() <= records_of(with_records("r", text, added, frozenset())).items()
