"""Users and groups on a node, and their homes, by systemd's own means at boot (sysusers.d(5), tmpfiles.d(5))."""

from collections.abc import Iterator

from sindplan.engine.records import Entry
from sindplan.model.people import People

SKELETON = "/etc/skel"
USERS_FILE = "/etc/sysusers.d/sindplan.conf"
HOMES_FILE = "/etc/tmpfiles.d/sindplan.conf"


def people_entries(people: People) -> Iterator[Entry]:
    """Yield the file from which systemd-sysusers makes users and groups."""
    if text := users_text(people):
        yield Entry(path=USERS_FILE, content=text.encode())


def users_text(people: People) -> str:
    """Return the lines of sysusers.d(5) for users and groups; empty when there are none."""
    lines = [f"g {group.name} {group.gid}" for group in people.groups]
    lines += [f'u {user.name} {user.uid}:{user.gid} "{user.name}" {user.home} /bin/bash' for user in people.users]
    lines += [f"m {user.name} {group}" for user in people.users for group in user.groups]
    return _text(lines)


def home_entries(people: People, relay_key: str) -> Iterator[Entry]:
    """Yield what makes homes on the cluster's home volume, each once: what its owner changes later stays.

    Owners are given by number, since the node itself need not know them. The relay's key comes with the skeleton.
    """
    if not people.users:
        return
    # A home begins with the skeleton's mode. One said in the line would be set again at each boot of the node.
    yield Entry(path=SKELETON, kind="dir", mode=0o700)
    yield Entry(path=f"{SKELETON}/.ssh", kind="dir", mode=0o700)
    yield Entry(path=f"{SKELETON}/.ssh/authorized_keys", content=f"{relay_key.strip()}\n".encode(), mode=0o600)
    yield Entry(path=HOMES_FILE, content=homes_text(people).encode())


def homes_text(people: People) -> str:
    """Return the lines of tmpfiles.d(5) for the users' homes."""
    return _text([f"C {user.home} - :{user.uid} :{user.gid} - {SKELETON}" for user in people.users])


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
