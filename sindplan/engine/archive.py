"""Entries to a tar archive and back, in memory.

An archive out of a container is untrusted: it is never extracted, names and link targets are data, and what is no file,
folder or link (devices, pipes, sockets) is left out.
"""

import io
import posixpath
import tarfile
from collections.abc import Iterable, Sequence

from sindplan.engine.records import Entry

# Equal entries make equal bytes. Not 0, which some programs take for "no time".
_MTIME = 946_684_800

_IDS = 2**32
# What Python's tarfile raises for numbers and records that are none, beside its own errors.
_DAMAGE = (
    tarfile.TarError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

_TYPES = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}


_BLOCK = 512


class ArchiveError(Exception):
    """The archive is damaged or too large."""


def pack(entries: Sequence[Entry]) -> bytes:
    """Return the archive of entries, in their order, to be unpacked at `/`. Missing parents are left to the engine."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path.strip("/") or ".")
            member.type = _TYPES[entry.kind]
            member.mode = 0o777 if entry.kind == "link" else entry.mode
            member.uid, member.gid, member.mtime = entry.uid, entry.gid, _MTIME
            member.linkname = entry.link if entry.kind == "link" else ""
            content = entry.content if entry.kind == "file" else b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def largest(entries: Iterable[Entry]) -> int:
    """Return how many bytes an archive of entries has at most: far cheaper than packing it to see.

    A member has a header, its content, and where a name is long an extended header with a header of its own, all in blocks of 512
    bytes (POSIX.1-2001, pax); names in UTF-8 have up to four bytes a character, and the archive ends with up to 20 blocks.
    """
    return sum(len(one.content) + 4 * (len(one.path) + len(one.link)) + 6 * _BLOCK for one in entries) + 20 * _BLOCK


def bounded(parts: Iterable[bytes], path: str, limit: int) -> bytes:
    """Join an archive that comes in parts.

    Raises:
        ArchiveError: It is larger than `limit` bytes.
    """
    data = bytearray()
    for part in parts:
        data += part
        if len(data) > limit:
            raise ArchiveError(f"the archive of {path} is larger than {limit} bytes")
    return bytes(data)


def unpack(data: bytes, path: str, limit: int) -> dict[str, Entry]:
    """Return what Docker's archive of `path` holds, by absolute path.

    Docker names the members after the last part of `path`. A hard link becomes a file of its own.

    Raises:
        ArchiveError: It is damaged, or its files are larger than `limit` bytes in all (a sparse file may claim that).
    """
    path = posixpath.normpath("/" + path.lstrip("/"))
    try:
        return _unpacked(data, path, limit)
    except _DAMAGE as error:
        raise ArchiveError(f"the archive of {path} is damaged: {error}") from error


def _unpacked(data: bytes, path: str, limit: int) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    total = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", errors="surrogateescape") as archive:
        for member in archive:
            # Python's reader goes back by a size that is negative, and would read the same for ever (CVE-2025-8194).
            if member.size < 0 or archive.offset <= member.offset:
                raise ValueError(f"{member.name} has less than no bytes")
            place = _place(path, member.name)
            if place is None:
                continue
            # A sparse file may be of any size, and links can say the same again and again.
            first = found.get(_place(path, member.linkname) or "") if member.islnk() else None
            total += member.size if member.isreg() else len(first.content) if first else 0
            if total > limit:
                raise ArchiveError(f"the files at {path} are larger than {limit} bytes")
            entry = _entry(archive, member, place, first)
            if entry is not None:
                found[place] = entry
    return found


def _place(path: str, name: str) -> str | None:
    """Return the absolute path of a member, or None when its name points out of the archive."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if (name.startswith("/") and path != "/") or ".." in parts:
        return None
    # The first part repeats the last one of the path, except at the root, which has no name.
    below = parts if path == "/" else parts[1:]
    return posixpath.join(path, *below)


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, place: str, first: Entry | None) -> Entry | None:
    mode, uid, gid = member.mode & 0o7777, member.uid, member.gid
    if not (0 <= uid < _IDS and 0 <= gid < _IDS):
        raise ValueError(f"nobody has the ids {uid} and {gid}")
    if member.isdir():
        return Entry(path=place, kind="dir", mode=mode, uid=uid, gid=gid)
    if member.issym():
        return Entry(path=place, kind="link", link=member.linkname, mode=mode, uid=uid, gid=gid)
    if member.islnk():
        return None if first is None else Entry(path=place, content=first.content, mode=mode, uid=uid, gid=gid)
    if member.isreg():
        stream = archive.extractfile(member)
        content = b"" if stream is None else stream.read()
        return Entry(path=place, content=content, mode=mode, uid=uid, gid=gid)
    return None
