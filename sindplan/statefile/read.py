"""From state files to the declaration they make together, or to everything that is wrong with them."""

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from sindplan.errors import DeclarationInvalid, Problem
from sindplan.model.declaration import Cluster, Declaration, Realm
from sindplan.statefile.across import problems_across
from sindplan.statefile.files import Document, find_files, load
from sindplan.statefile.seccomp import with_profiles
from sindplan.statefile.source import Source


def read_tables(content: Mapping[str, Any], file: Path) -> Declaration:
    """Return the declaration in tables that were read elsewhere, under the same rules.

    Args:
        file: Where they came from, for messages and relative host paths. No other file is read.

    Raises:
        DeclarationInvalid: With every problem.
    """
    return _read([Source.of(Document(file, content))], [], files=False)


def read(paths: Sequence[Path]) -> Declaration:
    """Return the declaration in state files; a folder stands for all `*.toml` directly in it.

    A relative `host_path` comes back absolute, seen from its file's folder, and a seccomp profile in full. Raises
    DeclarationInvalid with every problem of every file.
    """
    files, problems = find_files(paths)
    documents = [load(file) for file in files]
    sources = [Source.of(document) for document in documents if not isinstance(document, Problem)]
    unreadable = [document for document in documents if isinstance(document, Problem)]
    return _read(sources, [*problems, *unreadable], files=True)


def _read(sources: Sequence[Source], problems: Sequence[Problem], *, files: bool) -> Declaration:
    found = [
        *problems,
        *(source.problem(fault) for source in sources for fault in source.faults()),
        *problems_across(sources),
    ]
    sources, unread = with_profiles(sources, files=files)
    found += unread
    if not found and not sources:
        found.append(Problem(Path(), 0, "", "There is no state file to read.", "`sindplan init` writes a first one."))
    if found:
        raise DeclarationInvalid(tuple(sorted(set(found), key=_place)))
    return _merged(sources)


def _place(problem: Problem) -> tuple[object, ...]:
    # Problems sort by this themselves, but not a hundred thousand of them in a second.
    return problem.file, problem.line, problem.key, problem.what, problem.fix


def _merged(sources: Sequence[Source]) -> Declaration:
    realms: dict[str, Realm] = {}
    for source in sources:
        folder = source.document.file.absolute().parent
        for name, realm in source.declaration.realms.items():
            before = realms.get(name, Realm())
            mesh = realm.mesh if source.said(("realms", name, "mesh")) else before.mesh
            clusters = {key: _resolved(cluster, folder) for key, cluster in realm.clusters.items()}
            realms[name] = Realm(mesh=mesh, clusters={**before.clusters, **clusters})
    return evolve(sources[0].declaration, realms=realms)


def _resolved(cluster: Cluster, folder: Path) -> Cluster:
    path = cluster.storage.host_path
    if path is None:
        return cluster
    # By text alone: whether the folder is there, and what its links mean, only the Docker host knows.
    absolute = "/" + posixpath.normpath(posixpath.join(str(folder), path)).lstrip("/")
    return evolve(cluster, storage=evolve(cluster.storage, host_path=absolute))
