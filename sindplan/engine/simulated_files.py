"""Files in simulated containers: mounts over layers, symbolic links, and what archives refuse."""

import posixpath
from collections.abc import Mapping

from attrs import evolve, frozen

from sindplan.engine.records import Entry
from sindplan.engine.simulated_store import Tree

# The engine mounts these into running containers itself.
_BUSY = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
_MOST_LINKS = 40


class FilesError(Exception):
    """The kernel would not: the text is the engine's message."""


@frozen
class View:
    """The file system of a container: trees by where they are mounted, `/` being its own layer."""

    trees: Mapping[str, Tree]
    read_only: frozenset[str]
    running: bool

    def find(self, path: str, *, follow: bool = False) -> Entry | None:
        """Return what is at a path; links on the way are followed, one at its end if asked for."""
        try:
            return self._at(self._resolved(path, follow=follow))
        except FilesError:
            return None

    def below(self, path: str) -> dict[str, Entry]:
        """Return what is at a path and all below it, by the path as it was asked for."""
        real = self._resolved(path, follow=False)
        found: dict[str, Entry] = {}
        here = self._at(real)
        if here is None:
            return found
        asked = _normal(path)
        found[asked] = evolve(here, path=asked)
        for target, tree in self.trees.items():
            for inner in (*tree, "/"):
                whole = _joined(target, inner)
                rest = _below(real, whole)
                if rest and self._owner(whole) == target and (entry := self._at(whole)) is not None:
                    found[_joined(asked, rest)] = evolve(entry, path=_joined(asked, rest))
        return dict(sorted(found.items()))

    def put(self, entry: Entry) -> None:
        """Put an entry there, as an archive unpacked at `/` does.

        Raises:
            FilesError: The kernel or the engine would not.
        """
        path = _normal(entry.path)
        parent, name = posixpath.split(path)
        parent = self._made(parent)
        real = posixpath.join(parent, name) if name else "/"
        old = self._at(real)
        if self.running and real in _BUSY:
            raise FilesError(f"RemoveAll {real[1:]}: device or resource busy")
        if old is not None and (old.kind == "dir") != (entry.kind == "dir"):
            first, second = ("directory", "non-directory") if old.kind == "dir" else ("non-directory", "directory")
            raise FilesError(f'cannot overwrite {first} "{real[1:]}" with {second} "/"')
        self._write(real, entry)

    def delete(self, path: str) -> None:
        """Remove what is at a path and all below it."""
        real = self._resolved(path, follow=False)
        tree, inner = self._inner(real)
        for key in [key for key in tree if key == inner or _below(inner, key)]:
            del tree[key]

    def _write(self, real: str, entry: Entry) -> None:
        target = self._owner(real)
        if target in self.read_only:
            raise FilesError(f"openat {real[1:]}: read-only file system")
        tree, inner = self._inner(real)
        tree[inner] = evolve(entry, path=inner)

    def _made(self, path: str) -> str:
        """Return the real path of a folder, making what is missing of it."""
        current = "/"
        for part in path.strip("/").split("/") if path != "/" else ():
            step = self._resolved(posixpath.join(current, part), follow=True)
            entry = self._at(step)
            if entry is None:
                self._write(step, Entry(path=step, kind="dir", mode=0o755))
            elif entry.kind != "dir":
                raise FilesError(f"openat {path[1:]}: not a directory")
            current = step
        return current

    def _resolved(self, path: str, *, follow: bool) -> str:
        waiting = [part for part in _normal(path).split("/") if part]
        current, links = "/", 0
        while waiting:
            part = waiting.pop(0)
            if part == "..":
                current = posixpath.dirname(current)
                continue
            step = posixpath.join(current, part)
            entry = self._at(step)
            if entry is not None and entry.kind == "link" and (waiting or follow):
                links += 1
                if links > _MOST_LINKS:
                    raise FilesError(f"openat {path[1:]}: too many levels of symbolic links")
                current = "/" if entry.link.startswith("/") else current
                waiting = [one for one in entry.link.split("/") if one not in ("", ".")] + waiting
                continue
            current = step
        return current

    def _owner(self, real: str) -> str:
        return max((target for target in self.trees if target == real or _below(target, real)), key=len)

    def _inner(self, real: str) -> tuple[Tree, str]:
        target = self._owner(real)
        return self.trees[target], "/" + (_below(target, real) or "")

    def _at(self, real: str) -> Entry | None:
        tree, inner = self._inner(real)
        root = Entry(path="/", kind="dir", mode=0o755) if inner == "/" else None
        return tree.get(inner, root)


def rooted(files: Mapping[str, Entry]) -> Tree:
    """Return files as a tree: with all the folders they are in."""
    tree: Tree = {}
    for path, entry in files.items():
        parent = posixpath.dirname(_normal(path))
        while parent != "/":
            tree.setdefault(parent, Entry(path=parent, kind="dir", mode=0o755))
            parent = posixpath.dirname(parent)
        tree[_normal(path)] = evolve(entry, path=_normal(path))
    return tree


def subtree(tree: Mapping[str, Entry], path: str) -> Tree:
    """Return what a tree has at a folder and below it, as a tree of its own."""
    inside: Tree = {}
    for key, entry in tree.items():
        rest = _below(path, key)
        if key == path or rest:
            inside[f"/{rest or ''}"] = evolve(entry, path=f"/{rest or ''}")
    return inside


def _normal(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def _below(folder: str, path: str) -> str | None:
    """Return the rest of a path that is below a folder, else None."""
    folder = folder.rstrip("/") + "/"
    return path[len(folder) :] if path.startswith(folder) and path != folder else None


def _joined(target: str, inner: str) -> str:
    """Join two paths that are normal: this is done for every file of a container, whenever one is looked for."""
    target, inner = target.rstrip("/"), inner.strip("/")
    return f"{target}/{inner}" if inner else target or "/"
