"""Sizes and durations (field cases FC-17 and D10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.units import (
    LARGEST_MEMORY,
    SMALLEST_MEMORY,
    parse_duration,
    parse_memory,
    parse_tmpfs_size,
    spell_duration,
    spell_memory,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512m", 536870912),
        ("536870912", 536870912),
        ("536870912b", 536870912),
        ("1g", 1073741824),
        ("1.5g", 1610612736),
        ("2GiB", 2147483648),
        ("2gb", 2147483648),
        ("2 GB", 2147483648),
        ("1024M", 1073741824),
        ("6m", 6291456),
        ("0.001t", 1099511627),
        ("6144k", 6291456),
        ("1p", 2**50),
        ("8191p", 8191 * 2**50),
        ("00512m", 536870912),
        # A float would lose this.
        ("9007199254740993", 9007199254740993),
        (f"{LARGEST_MEMORY}", LARGEST_MEMORY),
        ("6.0000001m", 6291456),
    ],
)
def test_sizes_are_what_docker_makes_of_them(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "-1", "5m", "1 g b", "1,5g", "1e9", "nan", "inf", "\uff11g", "m", " 1g", "1g ", "1g\n", "1_000m", "0x10m",
        "1.g", ".5g", "1..5g", "+1g", "1gg", "1gbb", "1i", "1ib", "9223372036854775808", "8192p", "6291455", "1e", "٣g",
    ],
)  # fmt: skip
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|is less than|is more than"):
        parse_memory(text)


@given(st.integers(SMALLEST_MEMORY, LARGEST_MEMORY))
def test_a_size_is_spelt_so_that_it_is_read_again(size: int) -> None:
    assert parse_memory(spell_memory(size)) == size


@given(st.integers(6, 4096), st.sampled_from(["", "b", "ib"]), st.sampled_from([str.lower, str.upper, str.title]))
def test_all_spellings_mean_the_same(number: int, rest: str, case: object) -> None:
    assert callable(case)
    assert parse_memory(case(f"{number}m{rest}")) == number * 2**20
    assert parse_memory(case(f"{number}.0g{rest}")) == number * 2**30


@pytest.mark.parametrize(
    ("size", "text"), [(536870912, "512m"), (2**30, "1g"), (1610612736, "1536m"), (1000, "1000"), (2**50 * 3, "3p")]
)
def test_sizes_are_spelt_with_the_largest_unit(size: int, text: str) -> None:
    assert spell_memory(size) == text


@pytest.mark.parametrize(
    ("text", "normal"), [("256M", "256m"), ("10%", "10%"), ("1024", "1024"), ("1G", "1g"), ("7e", "7e")]
)
def test_sizes_of_tmpfs(text: str, normal: str) -> None:
    assert parse_tmpfs_size(text) == normal


@pytest.mark.parametrize("text", ["", "0", "000m", "1.5g", "-1", "1mb", "m", "1m,exec", "1 m", "\uff11m", "1m\n"])
def test_what_is_no_size_of_a_tmpfs_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="tmpfs"):
        parse_tmpfs_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("0s", 0), ("1h1m1s", 3661), ("100m", 6000)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "1m1h", "1.5h", "-1s", "1d", "1h 30m", "s", "1s\n", "\uff11s", "1ms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(0, 10**7))
def test_a_duration_is_spelt_so_that_it_is_read_again(seconds: int) -> None:
    assert parse_duration(spell_duration(seconds)) == seconds
