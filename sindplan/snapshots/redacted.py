"""What of an engine goes into a snapshot: no key, no password, no file that sindplan does not read, and no label of others."""

import base64
from collections.abc import Mapping

from attrs import evolve

from sindplan.engine.records import Container, ContainerSummary, Entry, Image, Network, Volume
from sindplan.kinds import config
from sindplan.kinds.boot_people import HOMES_FILE, USERS_FILE
from sindplan.kinds.controllers import HEARTBEAT
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.first_boot import AUTHORIZED
from sindplan.kinds.host_key import HOST_KEY
from sindplan.kinds.relay import KNOWN_HOSTS, PRIVATE_KEY, PUBLIC_KEY
from sindplan.slurm.files import CONFIG
from sindplan.slurm.masking import masked
from sindplan.snapshots.snapshot import LONGEST_HIDDEN, FileSeen

_LABELS = ("sind.", "sindplan.", "com.docker.compose.")
"""Beginnings of the labels that are looked at; others may hold anything."""
_OPEN = frozenset({AUTHORIZED, COREFILE, HEARTBEAT, HOMES_FILE, KNOWN_HOSTS, PUBLIC_KEY, USERS_FILE, f"{HOST_KEY}.pub"})
"""Files whose content is everybody's to know."""
PRIVATE_KEYS = (HOST_KEY, PRIVATE_KEY)
"""Files that hold the private half of an SSH key."""


def marks(found: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels that are looked at."""
    return {key: value for key, value in found.items() if key.startswith(_LABELS)}


def image(found: Image) -> Image:
    """Return an image without the labels of others."""
    return evolve(found, labels=marks(found.labels))


def network(found: Network) -> Network:
    """Return a network likewise."""
    return evolve(found, labels=marks(found.labels))


def volume(found: Volume) -> Volume:
    """Return a volume likewise."""
    return evolve(found, labels=marks(found.labels))


def summary(found: ContainerSummary) -> ContainerSummary:
    """Return a line of the container list likewise."""
    return evolve(found, labels=marks(found.labels))


def container(found: Container) -> Container:
    """Return a container likewise."""
    return evolve(found, spec=evolve(found.spec, labels=marks(found.spec.labels)))


def file(entry: Entry) -> FileSeen:
    """Return a file as a snapshot has it: its content, passwords masked, or only how long it is."""
    seen = FileSeen(path=entry.path, kind=entry.kind, link=entry.link, mode=entry.mode, uid=entry.uid, gid=entry.gid)
    if entry.kind != "file":
        return seen
    if entry.path in _OPEN:
        return _with_content(seen, entry.content)
    if _is_slurms(entry):
        return _with_content(seen, _masked(entry.content))
    return evolve(seen, hidden=min(len(entry.content), LONGEST_HIDDEN))


def entry(seen: FileSeen) -> Entry:
    """Return a file of a snapshot as the engine would show it; what is hidden is as long as it was."""
    content = base64.b64decode(seen.base64) if seen.base64 else seen.text.encode()
    return Entry(
        path=seen.path,
        kind=seen.kind,
        content=content if seen.hidden is None else b"?" * seen.hidden,
        link=seen.link,
        mode=seen.mode,
        uid=seen.uid,
        gid=seen.gid,
    )


def _is_slurms(entry: Entry) -> bool:
    """Say whether it is a file of Slurm's that a plan compares; the folder has keys, and what else users put there, too."""
    return entry.path.startswith(f"{CONFIG}/") and config.may_be_ours(entry.path.removeprefix(f"{CONFIG}/"))


def _masked(content: bytes) -> bytes:
    try:
        return masked(content.decode()).encode()
    except UnicodeDecodeError:
        # As a plan reads it, which no daemon does.
        text = content.decode("utf-8", "backslashreplace")
        return content if masked(text) == text else masked(text).encode()


def _with_content(seen: FileSeen, content: bytes) -> FileSeen:
    try:
        return evolve(seen, text=content.decode())
    except UnicodeDecodeError:
        return evolve(seen, base64=base64.b64encode(content).decode("ascii"))
