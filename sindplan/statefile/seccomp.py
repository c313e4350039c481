"""Seccomp profiles: a security option names a file, and the engine is sent what is in it, as by docker's own command.

A plan shows it, too. So only files below the state file's folder are read: a state file may be a stranger's, who would otherwise
be shown any JSON of whoever plans it, such as a registry's credentials.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from attrs import evolve, frozen

from sindplan.errors import Problem
from sindplan.model.declaration import Cluster, NodeOptions, Realm
from sindplan.statefile.fault import Fault
from sindplan.statefile.files import read_at_most, reason
from sindplan.statefile.privileges import security_option_fault, split_option
from sindplan.statefile.source import Source, cluster_path
from sindplan.statefile.wording import KeyPath, quoted

LARGEST_PROFILE = 128 * 1024
"""Docker's own profile has about 30 KiB; each node's container carries its profile."""

_BUILT_IN = frozenset({"unconfined", "builtin"})

Options = TypeVar("Options", bound=NodeOptions)


class _NoProfile(Exception):
    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


def with_profiles(sources: Sequence[Source], *, files: bool) -> tuple[list[Source], list[Problem]]:
    """Return the sources with profiles in the place of their files, and a problem for each that is none.

    Args:
        files: Whether files may be read; else profiles must stand there in full.
    """
    done = [_Profiles(source, files, {}, []) for source in sources]
    return [one.resolved() for one in done], [
        source.problem(fault) for source, one in zip(sources, done, strict=True) for fault in one.faults
    ]


@frozen
class _Profiles:
    """The profiles of one state file, each read once."""

    source: Source
    files: bool
    read: dict[str, str | _NoProfile]
    faults: list[Fault]

    def resolved(self) -> Source:
        """Return the source with profiles in full, and note what is wrong with them."""
        structured = self.source.structured
        realms = {
            realm: evolve(content, clusters=dict(self._clusters(realm, content)))
            for realm, content in self.source.declaration.realms.items()
        }
        return evolve(
            self.source, structured=evolve(structured, declaration=evolve(structured.declaration, realms=realms))
        )

    def _clusters(self, realm: str, content: Realm) -> Iterator[tuple[str, Cluster]]:
        for name, cluster in content.clusters.items():
            path = cluster_path(realm, name)
            single = {
                key: self._options(node, (*path, key))
                for key in ("defaults", "controller", "submitter", "db", "api")
                if (node := getattr(cluster, key)) is not None
            }
            workers = {key: self._options(group, (*path, "workers", key)) for key, group in cluster.workers.items()}
            yield name, evolve(cluster, **single, workers=workers)

    def _options(self, node: Options, path: KeyPath) -> Options:
        if not node.security_opt:
            return node
        options = (self._option(option, (*path, "security_opt", at)) for at, option in enumerate(node.security_opt))
        return evolve(node, security_opt=tuple(options))

    def _option(self, option: str, path: KeyPath) -> str:
        name, setting = split_option(option)
        if name != "seccomp" or setting is None or setting in _BUILT_IN or security_option_fault(option) is not None:
            return option
        if setting not in self.read:
            self.read[setting] = _profile(setting, self.source.document.file.absolute().parent if self.files else None)
        profile = self.read[setting]
        if isinstance(profile, str):
            return f"seccomp={profile}"
        self.faults.append(Fault(path, profile.what, profile.fix))
        return option


def _profile(setting: str, folder: Path | None) -> str | _NoProfile:
    """Return a profile as compact JSON: one that stands there in full, or one in a file."""
    try:
        if setting.startswith("{"):
            return _compact(setting, "The profile")
        return _compact(_text(_below(folder, setting)), quoted(setting))
    except _NoProfile as error:
        return error


def _below(folder: Path | None, setting: str) -> Path:
    if folder is None:
        raise _NoProfile(f"{quoted(setting)} is the path of a profile.", "A saved plan holds its profiles in full.")
    # Whether there is such a file out there is nobody's business either.
    if not Path(os.path.realpath(folder / setting)).is_relative_to(os.path.realpath(folder)):
        raise _NoProfile(
            f"{quoted(setting)} leads out of the state file's folder; it was not read.",
            "Put the profile beside the state file: what is in it is shown by plans.",
        )
    return folder / setting


def _text(file: Path) -> str:
    name = quoted(str(file))
    try:
        data = read_at_most(file, LARGEST_PROFILE)
        text = None if data is None else data.decode()
    except FileNotFoundError:
        raise _NoProfile(
            f"There is no file {name}.", "A profile's path is seen from the state file's folder."
        ) from None
    except UnicodeDecodeError:
        raise _NoProfile(f"{name} is not UTF-8.") from None
    except (OSError, ValueError) as error:
        raise _NoProfile(f"{name} cannot be read: {reason(error)}.") from None
    if text is None:
        raise _NoProfile(f"{name} is larger than {LARGEST_PROFILE // 1024} KiB.", "Name a seccomp profile.")
    return text


def _compact(text: str, name: str) -> str:
    try:
        profile: Any = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        profile = None
    if len(text) > LARGEST_PROFILE or not isinstance(profile, Mapping):
        raise _NoProfile(
            f"{name} is not a JSON object of at most {LARGEST_PROFILE // 1024} KiB.",
            "Write a seccomp profile as Docker's documentation has it.",
        )
    return json.dumps(profile, separators=(",", ":"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
