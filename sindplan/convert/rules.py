"""What must hold of sind's file that a state file cannot even say wrong: how many nodes of a role, names once in a list.

Everything else is checked on the translation, by the state file's own rules.
"""

from attrs import frozen

from sindplan.convert.found import Found
from sindplan.convert.reading import Reading
from sindplan.statefile.wording import key_path, quoted

SINGLE = ("controller", "db", "api", "submitter")


@frozen
class Restricted:
    """A key that only some roles have.

    Attributes:
        key: The key.
        roles: The roles.
        rule: The same, as a sentence.
        says_nothing: A value that is as good as none, in sind.
    """

    key: str
    roles: tuple[str, ...]
    rule: str
    says_nothing: int | None = None


_RESTRICTED = (
    Restricted("count", ("worker",), "Only workers are counted; remove it.", says_nothing=0),
    Restricted("managed", ("controller", "db", "api", "worker"), "A submitter has nothing to manage; remove it."),
    Restricted("backupController", ("controller",), "The controller says it; remove it here.", says_nothing=False),
)


def check(reading: Reading, cluster: Found) -> None:
    """Refuse what breaks a rule."""
    for family in ("users", "groups", "accounts"):
        _names_once(reading, cluster.list(family))
    _host_path_is_said(reading, cluster)
    nodes = cluster.list("nodes")
    for node in nodes:
        _keys_fit_the_role(reading, node)
    _counts(reading, cluster)
    _all_or_none_managed(reading, nodes)


def _names_once(reading: Reading, entries: tuple[Found, ...]) -> None:
    first: dict[str, Found] = {}
    for entry in entries:
        name = entry.text("name")
        if name is not None and first.setdefault(name, entry) is not entry:
            what = f"{quoted(name)} stands on line {first[name].place.line} already."
            reading.refuse(entry.place_of("name"), what, "Keep one of the two.")


def _host_path_is_said(reading: Reading, cluster: Found) -> None:
    storage = cluster.map.get("storage", cluster)
    data = storage.map.get("dataStorage", storage)
    if data.text("type") == "hostPath" and not data.said("hostPath"):
        reading.refuse(data.place_of("type"), "There is no path.", "Write `hostPath: …`, or `type: volume`.")


def _keys_fit_the_role(reading: Reading, node: Found) -> None:
    role = node.text("role")
    for one in _RESTRICTED:
        found = node.map.get(one.key)
        if found is None or role is None or role in one.roles or found.value == one.says_nothing or found.is_wrong:
            continue
        reading.refuse(found.place, f"`{one.key}` is not a key of {_with_article(role)}.", one.rule)


def _with_article(role: str) -> str:
    return f"an {role}" if role == "api" else f"a {role}"


def _counts(reading: Reading, cluster: Found) -> None:
    first: dict[str, Found] = {}
    for node in cluster.list("nodes"):
        role = node.text("role")
        if role in SINGLE and first.setdefault(role, node) is not node:
            other = first[role].place
            what = f"There is {_with_article(role)} already: {key_path(other.path)}, line {other.line}."
            reading.refuse(node.place, what, "A cluster has one.")
        elif role is not None:
            first.setdefault(role, node)
    if is_uncertain(cluster) or not cluster.list("nodes"):
        return
    for role in ("controller", "worker"):
        if role not in first:
            reading.refuse(cluster.place_of("nodes"), f"There is no {role}.", f"Write `- {role}` as an item.")


def is_uncertain(cluster: Found) -> bool:
    """Say whether it cannot be known which nodes there are, since something about them was refused."""
    nodes = cluster.map.get("nodes")
    return nodes is not None and (nodes.is_wrong or any(node.text("role") is None for node in nodes.items))


def _all_or_none_managed(reading: Reading, nodes: tuple[Found, ...]) -> None:
    if not any(node.text("role") == "controller" and node.flag("managed") is False for node in nodes):
        return
    for node in nodes:
        if node.text("role") != "controller" and node.flag("managed") is True:
            what = "The node cannot be managed where the controller is not."
            reading.refuse(node.place_of("managed"), what, "Remove it here, or `managed: false` of the controller.")
