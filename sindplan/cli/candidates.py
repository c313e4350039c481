"""What a shell can complete where an address, a realm or a cluster is wanted: by the state files, and by the engine.

A completion is a convenience: it says nothing of errors, and does not wait. State files are read as TOML alone, and an engine that has
not answered in time is left out.
"""

import os
import socket
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from sindplan.model.address import MESH, Address

ENGINE_SECONDS = 0.8
"""With Python's own start it is a second, after which nobody waits for a completion."""
_LARGEST_FILE = 1024 * 1024
_CLUSTER_PARTS = 2
_SINGLE = ("controller", "submitter", "db", "api")
_WORKERS_AT_MOST = 10_000


def addresses(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return realms, clusters, nodes and volumes."""
    return _beginning(ctx, incomplete, lambda _: True)


def clusters(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return clusters."""
    return _beginning(ctx, incomplete, lambda one: len(one.parts) == _CLUSTER_PARTS and one.cluster != MESH)


def clusters_and_realms(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return clusters and realms."""
    return _beginning(ctx, incomplete, lambda one: one.parts[1:2] != (MESH,) and one.kind == "")


def realms(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return realms."""
    return _beginning(ctx, incomplete, lambda one: len(one.parts) == 1)


def _beginning(ctx: click.Context, incomplete: str, wanted: Callable[[Address], bool]) -> list[str]:
    found: set[Address] = set()
    with suppress(Exception):
        found |= set(_declared(ctx.params.get("paths") or ()))
    with suppress(Exception):
        found |= set(_in_time(_running)) if _may_answer() else set()
    texts = [str(one) for one in sorted(found) if wanted(one)]
    # Names come out of files and labels that others write: one that is no plain word stays out of the shell.
    return [
        text
        for text in texts
        if text.startswith(incomplete) and text.isascii() and text.isprintable() and " " not in text
    ]


# Files


def _declared(paths: Sequence[Path]) -> Iterator[Address]:
    from sindplan.cli.options import DEFAULT_FILE

    # Not by `statefile`, whose import takes longer than all of this.
    for path in tuple(paths) or (DEFAULT_FILE,):
        for file in sorted(path.glob("*.toml")) if path.is_dir() else [path]:
            with suppress(Exception):
                yield from _in_tables(tomllib.loads(file.read_text(encoding="utf-8")) if _readable(file) else {})


def _readable(file: Path) -> bool:
    return file.is_file() and file.stat().st_size <= _LARGEST_FILE


def _in_tables(tables: Mapping[str, Any]) -> Iterator[Address]:
    for realm, spec in tables["realms"].items():
        yield from _of_realm(realm)
        for name, cluster in spec.get("clusters", {}).items():
            address = Address((realm, name))
            yield address
            with suppress(Exception):
                yield from (address / "node" / short for short in _nodes(cluster))


def _of_realm(realm: str) -> Iterator[Address]:
    yield Address((realm,))
    yield from (Address((realm, MESH, *more)) for more in ((), ("dns",), ("relay",)))


def _nodes(cluster: Mapping[str, Any]) -> Iterator[str]:
    """Yield the nodes of a cluster; which workers a group has by its count only the engine knows, so the lowest are taken."""
    from ClusterShell.NodeSet import NodeSet

    yield from (name for name in _SINGLE if name == "controller" or name in cluster)
    if cluster.get("controller", {}).get("backup"):
        yield "controller-backup"
    groups = cluster.get("workers", {"default": {}}).values()
    named = {str(one) for group in groups if "nodes" in group for one in NodeSet(group["nodes"])}
    yield from named
    free = (f"worker-{number}" for number in range(_WORKERS_AT_MOST) if f"worker-{number}" not in named)
    for group in groups:
        for _ in range(0 if "nodes" in group else min(int(group.get("count", 1)), _WORKERS_AT_MOST)):
            yield next(free)


# The engine


def _may_answer() -> bool:
    """Say whether an engine may be there; asked before docker's SDK is loaded, which takes longer than the rest."""
    host = os.environ.get("DOCKER_HOST", "")
    if not host and (os.environ.get("DOCKER_CONTEXT") or (Path.home() / ".docker/config.json").exists()):
        return True
    if host and not host.startswith("unix://"):
        return True
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(ENGINE_SECONDS)
        return one.connect_ex(host.removeprefix("unix://") or "/var/run/docker.sock") == 0


def _running() -> list[Address]:
    from sindplan.cli import options
    from sindplan.observe.gather import take_inventory

    engine, _ = options.connected()
    found: list[Address] = []
    for address, cluster in take_inventory(engine).clusters().items():
        found += (*_of_realm(address.realm), address)
        found += (address / "node" / short for short in cluster.nodes)
        found += (address / "volume" / kind for kind in cluster.volumes)
    return found


def _in_time(ask: Callable[[], list[Address]]) -> Iterable[Address]:
    """Return what is answered within the time; a thread that hangs ends with the process."""
    answers: list[list[Address]] = []

    def asked() -> None:
        with suppress(Exception):
            answers.append(ask())

    thread = threading.Thread(target=asked, daemon=True)
    thread.start()
    thread.join(ENGINE_SECONDS)
    return answers[0] if answers else ()
