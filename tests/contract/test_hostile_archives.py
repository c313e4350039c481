"""Archives out of containers are anybody's bytes: read within bounds, or refused as what they are."""

import contextlib
import io
import tarfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sindplan.engine.archive import ArchiveError, unpack
from tests.contract.test_archive import LIMIT, archive
from tests.strategies import SETTINGS

KINDS = [bytes([kind]) for kind in b"01234567xgLKSDV\0"]
NAMES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(("d", "d/a", "d/../x", "/d", "..", ".", "", "d/" + "x" * 300, "d\ud800", "d/\udcff")),
)
MEMBERS = st.lists(
    st.tuples(NAMES, st.sampled_from(KINDS), st.one_of(st.binary(max_size=40), NAMES)),
    max_size=4,
)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Draw headers with numbers of any kind and a right checksum, so that they are believed."""
    data = b""
    for _ in range(draw(st.integers(1, 3))):
        head = bytearray(tarfile.TarInfo("d/a").tobuf(tarfile.USTAR_FORMAT)[:512])
        head[156:157] = draw(st.sampled_from(KINDS))
        for start, width in (
            (100, 8),
            (108, 8),
            (116, 8),
            (124, 12),
            (136, 12),
            (257, 8),
            (329, 8),
            (345, 155),
            (386, 96),
        ):
            if draw(st.booleans()):
                said = draw(
                    st.one_of(
                        st.binary(min_size=width, max_size=width),
                        st.sampled_from((b"\x80", b"\xff")).map(lambda sign, rest=width - 1: sign + b"\xff" * rest),
                    )
                )
                head[start : start + width] = said
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        data += bytes(head) + draw(st.one_of(st.just(b""), st.binary(min_size=512, max_size=512)))
    return data + draw(st.sampled_from((b"", b"\0" * 1024)))


def packed(members: list[tuple[str, bytes, bytes | str]], form: int) -> bytes:
    try:
        return archive(*members, fmt=form)
    except (ValueError, tarfile.TarError):
        # Nobody's writer makes this one.
        return b""


FORMATS = st.sampled_from((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
WHOLE = st.builds(packed, MEMBERS, FORMATS)
CUT = st.builds(lambda data, at, more: data[:at] + more, WHOLE, st.integers(0, 3000), st.binary(max_size=9))
SLIPS = st.builds(
    lambda data, at, more: data[:at] + more + data[at + len(more) :], WHOLE, st.integers(0, 3000), st.binary(max_size=9)
)


def sized(kind: bytes, size: int) -> bytes:
    """Return an archive of a file whose head says another size, with a right checksum."""
    head = bytearray(tarfile.TarInfo("d/a").tobuf(tarfile.USTAR_FORMAT)[:512])
    head[156:157], head[124:136] = kind, (size % 256**12).to_bytes(12, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    before = tarfile.TarInfo("d/b").tobuf(tarfile.USTAR_FORMAT)[:512]
    return before + bytes(head) + b"\0" * 1024


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [-1, -512, -513, -1024, -(2**80)])
def test_a_negative_size_is_not_gone_back_by(kind: bytes, size: int) -> None:
    with contextlib.suppress(ArchiveError):
        unpack(sized(kind, size), "/d", LIMIT)


def pax(**headers: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("d/a")
        member.pax_headers = {key.replace("_", "."): value for key, value in headers.items()}
        tar.addfile(member)
    return buffer.getvalue()


def test_links_to_a_file_count_as_often_as_they_are() -> None:
    data = archive(
        ("d/a", tarfile.REGTYPE, b"x" * (LIMIT // 4)), *((f"d/{n}", tarfile.LNKTYPE, "d/a") for n in range(4))
    )

    with pytest.raises(ArchiveError, match="larger than"):
        unpack(data, "/d", LIMIT)


@SETTINGS
@given(st.one_of(st.binary(max_size=600), WHOLE, CUT, SLIPS, blocks()), st.sampled_from(("/d", "/", "/x/d")))
@example(pax(uid="nan"), "/d")
@example(pax(size="9" * 30), "/d")
@example(pax(size="-1"), "/d")
@example(pax(mtime="inf"), "/d")
@example(pax(GNU_sparse_map="1,2,x"), "/d")
@example(pax(GNU_sparse_major="1", GNU_sparse_minor="0", GNU_sparse_realsize="9" * 20), "/d")
@example(
    b"".join(tarfile.TarInfo("d" * 90).tobuf(tarfile.GNU_FORMAT).replace(b"0ustar", b"Lustar") for _ in range(3000)),
    "/d",
)
def test_any_bytes_are_entries_or_refused(data: bytes, path: str) -> None:
    try:
        found = unpack(data, path, LIMIT)
    except ArchiveError:
        return
    assert sum(len(entry.content) for entry in found.values()) <= LIMIT
    assert all(place.startswith("/") and ".." not in place.split("/") for place in found)
    assert all((0 <= entry.mode <= 0o7777, entry.uid >= 0, entry.gid >= 0) == (True,) * 3 for entry in found.values())
