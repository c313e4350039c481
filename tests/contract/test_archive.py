"""Archives: bytes that are always the same, and hostile ones."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.engine.archive import ArchiveError, bounded, largest, pack, unpack
from sindplan.engine.records import Entry

LIMIT = 1 << 20

names = st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=40)
paths = names.filter(lambda name: name not in (".", "..")).map("/{}".format)
common = {"uid": st.integers(0, 2**31), "gid": st.integers(0, 2**31), "path": paths}
modes = st.integers(0, 0o7777)
entries = st.one_of(
    st.builds(Entry, content=st.binary(max_size=600), mode=modes, **common),
    st.builds(Entry, kind=st.just("dir"), mode=modes, **common),
    st.builds(Entry, kind=st.just("link"), link=names, mode=st.just(0o777), **common),
)


@given(st.lists(entries, unique_by=lambda entry: entry.path))
def test_what_is_packed_is_unpacked(found):
    assert unpack(pack(found), "/", LIMIT) == {entry.path: entry for entry in found}


long_names = st.builds(
    Entry, path=st.integers(1, 900).map(lambda length: f"/{'é' * length}"), content=st.binary(max_size=9)
)


@given(st.lists(entries | long_names))
def test_none_is_larger_than_it_may_be(found):
    assert len(pack(found)) <= largest(found)


@given(st.lists(entries))
def test_equal_entries_make_equal_bytes(found):
    assert pack(found) == pack(list(found))


def archive(*members, fmt=tarfile.PAX_FORMAT):
    """Return an archive of `(name, type, content or link)`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=fmt) as tar:
        for name, kind, what in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            content = what if isinstance(what, bytes) else b""
            member.linkname = what if isinstance(what, str) else ""
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_the_first_part_of_names_is_the_path():
    data = archive(("slurm", tarfile.DIRTYPE, ""), ("slurm/a/b", tarfile.REGTYPE, b"x"))

    assert set(unpack(data, "/etc/slurm", LIMIT)) == {"/etc/slurm", "/etc/slurm/a/b"}
    assert set(unpack(data, "etc/slurm/", LIMIT)) == {"/etc/slurm", "/etc/slurm/a/b"}


def test_hostile_names_are_left_out():
    data = archive(
        ("d/../../etc/passwd", tarfile.REGTYPE, b"x"),
        ("/etc/shadow", tarfile.REGTYPE, b"x"),
        ("d/..", tarfile.DIRTYPE, ""),
        ("d/ok", tarfile.REGTYPE, b"x"),
        ("d/dev", tarfile.CHRTYPE, ""),
        ("d/pipe", tarfile.FIFOTYPE, ""),
        ("d/link", tarfile.SYMTYPE, "../../../etc/passwd"),
        ("d/hard", tarfile.LNKTYPE, "d/../../etc/passwd"),
        ("d/hard2", tarfile.LNKTYPE, "d/ok"),
    )
    found = unpack(data, "/x/d", LIMIT)

    assert set(found) == {"/x/d/ok", "/x/d/link", "/x/d/hard2"}
    assert found["/x/d/link"].link == "../../../etc/passwd"
    assert found["/x/d/hard2"].content == b"x"


@pytest.mark.parametrize("data", [b"\0" * 100, b"x" * 5000, archive(("a", tarfile.REGTYPE, b"x" * 3000))[:1500]])
def test_damage_is_an_error(data):
    with pytest.raises(ArchiveError):
        unpack(data, "/a", LIMIT)


def test_a_claim_is_not_believed():
    member = tarfile.TarInfo("bomb")
    member.size = 1 << 40

    with pytest.raises(ArchiveError, match="larger than"):
        unpack(member.tobuf(tarfile.PAX_FORMAT) + b"\0" * 1024, "/bomb", LIMIT)


def test_bounded():
    assert bounded(iter([b"ab", b"c"]), "/x", 3) == b"abc"
    with pytest.raises(ArchiveError):
        bounded(iter([b"ab", b"cd"]), "/x", 3)
