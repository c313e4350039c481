"""The grammar of sind's cluster files on one page (sind v0.11): which keys there are, and the form of each.

What the state file's own rules say of values (bounds, spellings, what excludes what) they say of the translation.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from yaml import MappingNode, Node, ScalarNode

from sindplan.convert.forms import choice, content, flag, many, named, scalar, short, table, text, whole
from sindplan.convert.found import Found, Place
from sindplan.convert.reading import Form, Reading, line_of
from sindplan.statefile.wording import listed

ROLES = ("controller", "db", "api", "submitter", "worker")
SECTIONS = ("main", "cgroup", "gres", "topology", "plugstack", "slurmdbd")

OPTIONS: Mapping[str, Form] = {
    "image": text,
    "cpus": whole,
    "memory": text,
    "tmpSize": text,
    "capAdd": many(text),
    "capDrop": many(text),
    "devices": many(text),
    "securityOpt": many(text),
}
"""What can be said of every node, and in `defaults`."""

_NODE_KEYS: Mapping[str, Form] = {
    "role": choice(*ROLES),
    "count": whole,
    **OPTIONS,
    "managed": flag,
    "backupController": flag,
}
_WHOLE_NODE = table(_NODE_KEYS, "role")


def _node(reading: Reading, node: Node, place: Place) -> Found | None:
    """Read a node: `worker`, `worker: 3`, or a map."""
    if isinstance(node, ScalarNode):
        role = choice(*ROLES)(reading, node, place)
        return Found(place, {"role": role}) if role is not None else None
    if not isinstance(node, MappingNode):
        what = "A node is a role, a role with a count, or a map."
        return reading.refuse(place, what, f"The roles are {listed(ROLES)}.")
    pairs = reading.pairs(node, place)
    roles = [pair for pair in pairs if pair[0] in ROLES]
    if not roles and not any(name in _NODE_KEYS for name, _, _ in pairs) and len(pairs) == 1:
        ((name, key, _),) = pairs
        advice = reading.advice(name, (*ROLES, *_NODE_KEYS))
        return reading.refuse(place.key(name, line_of(key)), "This is neither a role nor a key of a node.", advice)
    if not roles:
        return _WHOLE_NODE(reading, node, place)
    (name, key, value), *_ = roles
    if len(pairs) > 1:
        fix = f"Write `role: {name}`, and `count` if there are several."
        return reading.refuse(place.key(name, line_of(key)), "With other keys the role needs a key of its own.", fix)
    here = place.key(name, line_of(key))
    count = reading.read(whole, value, here)
    return Found(place, {"role": Found(here, name)} | ({"count": count} if count is not None else {}))


_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")
_LARGEST_INTEGER = 2**63 - 1


def _limit(reading: Reading, node: Node, place: Place) -> Found | None:
    """Read a limit: text as it is, a number in plain decimals, as sind passes it to sacctmgr."""
    value = scalar(reading, node, place, "text or a number")
    if isinstance(value, Found):
        return value
    if not isinstance(node, ScalarNode) or node.style is not None or _NUMBER.fullmatch(value) is None:
        return Found(place, value) if value else None
    number = Decimal(value)
    plain = f"{number.normalize():f}"
    is_whole = number == number.to_integral_value() and abs(number) <= _LARGEST_INTEGER
    return Found(place, int(number) if is_whole else plain)


def _section(reading: Reading, node: Node, place: Place) -> Found | None:
    """Read the text for one of Slurm's files, or named fragments of it."""
    return text(reading, node, place) if isinstance(node, ScalarNode) else _FRAGMENTS(reading, node, place)


_FRAGMENTS = named(content)

CLUSTER = table(
    {
        "kind": choice("Cluster"),
        "name": text,
        "realm": text,
        "defaults": table(OPTIONS),
        "storage": table(
            {
                "dataStorage": table({"type": choice("volume", "hostPath"), "hostPath": text, "mountPath": text}),
                "cvmfs": flag,
            }
        ),
        "users": many(
            short(
                "name",
                text,
                table(
                    {
                        "name": text,
                        "uid": whole,
                        "group": text,
                        "groups": many(text),
                        "accounts": many(text),
                        "coordinator": many(text),
                        "adminLevel": text,
                    },
                    "name",
                ),
            )
        ),
        "groups": many(short("name", text, table({"name": text, "gid": whole}, "name"))),
        "accounts": many(
            short("name", text, table({"name": text, "parent": text, "limits": named(_limit)}, "name")),
        ),
        "identity": short(
            "mode",
            choice("local", "nssSlurm", "clientIds"),
            table({"mode": choice("local", "nssSlurm", "clientIds"), "controllerUsers": flag}),
        ),
        "slurm": table(dict.fromkeys(SECTIONS, _section)),
        "nodes": many(_node),
    },
    "kind",
)
"""A cluster file."""
