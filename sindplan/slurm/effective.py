"""What Slurm's files say together: inclusions followed, the last of several values taken. Pure, for look-ups only."""

import posixpath
import re
from collections.abc import Iterator, Mapping

from attrs import frozen
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

from sindplan.slurm.generated import CONFIG
from sindplan.slurm.parameters import KNOWN, RECORDS, rule_of
from sindplan.slurm.text import Statement, listed_in, statements

MAIN = "slurm.conf"
_DEPTH = 8
_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_.-]+")
Texts = Mapping[str, str]
"""Texts by path below /etc/slurm."""


@frozen
class Placed:
    """A statement, and the file that it stands in."""

    path: str
    statement: Statement


def said(texts: Texts, path: str = MAIN) -> Iterator[Placed]:
    """Yield what a file says, with what it includes, in the order in which Slurm reads it.

    A relative path is one below /etc/slurm, wherever the line stands. A file that is not known says nothing.
    """
    return _said(texts, path, _DEPTH)


def _said(texts: Texts, path: str, depth: int) -> Iterator[Placed]:
    for statement in statements(texts.get(path, "")) if depth else ():
        yield Placed(path, statement)
        if statement.key == "include":
            yield from _said(texts, below(statement.value), depth - 1)


def below(path: str) -> str:
    """Return the path below /etc/slurm of a file that is included."""
    return posixpath.normpath(posixpath.join(CONFIG, path)).removeprefix(f"{CONFIG}/")


def in_force(texts: Texts) -> Mapping[str, str]:
    """Return the parameters of slurm.conf by their names: of several values the last, but every controller."""
    found: dict[str, str] = {}
    for placed in said(texts):
        key, value = placed.statement.key, placed.statement.value
        if key not in RECORDS:
            name = KNOWN.get(key, key)
            found[name] = f"{found[name]} {value}" if key == "slurmctldhost" and name in found else value
            # `SlurmctldPort=1 SlurmdPort=2` on one line are two parameters.
            found |= {KNOWN.get(more.key.lower(), more.key): more.value for more in placed.statement.parameters}
    return found


def read_at_start(texts: Texts, daemon: str) -> Mapping[str, str]:
    """Return the parameters that a daemon reads only at its start."""
    return {
        name: value
        for name, value in sorted(in_force(texts).items())
        if (rule := rule_of(name)) is not None and daemon in rule.daemons
    }


def nodes(texts: Texts) -> Mapping[str, Mapping[str, str]]:
    """Return the attributes of each node by name, keys in lower case; `NodeName=DEFAULT` holds for those after it."""
    found: dict[str, Mapping[str, str]] = {}
    defaults: Mapping[str, str] = {}
    for placed in said(texts):
        if placed.statement.key == "nodename":
            own = {one.key.lower(): one.value for one in placed.statement.parameters}
            if placed.statement.value.upper() == "DEFAULT":
                defaults = {**defaults, **own}
            else:
                found |= {name: {**defaults, **own} for name in _expanded(placed.statement.value)}
    return found


def hosts(texts: Texts) -> frozenset[str]:
    """Return the names of hosts that slurmctld looks up: controllers and nodes without an address of their own."""
    found = {value.partition("(")[0] for value in in_force(texts).get("SlurmctldHost", "").split()}
    for name, attributes in nodes(texts).items():
        found |= {name, *_expanded(attributes.get("nodehostname", name)), *_expanded(attributes.get("nodeaddr", name))}
    return frozenset(name for name in found if _NAME.fullmatch(name))


def partitions(texts: Texts) -> frozenset[str]:
    """Return the names of the partitions."""
    return frozenset(
        name
        for placed in said(texts)
        if placed.statement.key == "partitionname" and placed.statement.value.upper() != "DEFAULT"
        for name in placed.statement.value.split(",")
    )


def keys_of_tokens(texts: Texts) -> frozenset[str]:
    """Return the paths of the files that `AuthAltParameters` names as keys."""
    value = in_force(texts).get("AuthAltParameters", "")
    return frozenset(item.removeprefix("jwt_key=") for item in _items(value) if item.startswith("jwt_key="))


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",")]


def plugins(texts: Texts, name: str) -> frozenset[str]:
    """Return the plugins that a parameter names, in lower case."""
    return listed_in(in_force(texts).get(name, ""))


def keeps_accounts(texts: Texts) -> bool:
    """Say whether slurmctld delivers to a slurmdbd."""
    return in_force(texts).get("AccountingStorageType", "").lower().removeprefix("accounting_storage/") == "slurmdbd"


def _expanded(text: str) -> list[str]:
    try:
        return list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetParseError:
        return [text]
