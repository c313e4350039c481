"""sind's cluster file said as a state file: key by key where both have the key, with comments where they differ."""

from collections.abc import Iterator

from attrs import frozen

from sindplan.convert.found import WRONG, Found
from sindplan.convert.nodes import image, nodes, options
from sindplan.convert.people import people
from sindplan.convert.slurm_text import slurm_text
from sindplan.convert.storage import storage, unsaid_storage
from sindplan.convert.tables import Key, Table, same

DEFAULT_REALM, DEFAULT_NAME = "sind", "default"
_IDENTITIES = {"local": "local", "nssSlurm": "nss_slurm", "clientIds": "client_ids"}


@frozen
class Choices:
    """What a state file needs that sind's file does not say.

    Attributes:
        source: What that file is called, for the header.
        name: The name of the declaration.
        image: The image of nodes that name none.
    """

    source: str
    name: str
    image: str


def translate(found: Found, choices: Choices) -> Table:
    """Return the state file with the cluster that was found."""
    cluster = Key(
        found.text("name") or DEFAULT_NAME,
        _cluster(found, choices.image),
        found.place_of("name"),
        above=tuple(_names(found)),
    )
    realm = Key(
        found.text("realm") or DEFAULT_REALM, Table((Key("clusters", Table((cluster,))),)), found.place_of("realm")
    )
    header = (
        f"Converted from {choices.source}, a cluster file of sind's, by `sindplan convert`.",
        "Comments of that file are not carried over.",
    )
    owner = ("Whose clusters these are. Keep it: sindplan knows its clusters by it.",)
    version = Key("version", 1, above=header)
    return Table((version, Key("name", choices.name, above=owner), Key("realms", Table((realm,)))))


def _names(found: Found) -> Iterator[str]:
    """Yield a comment on names that are sind's defaults."""
    unsaid = [f"no {key}" for key in ("realm", "name") if not found.said(key)]
    if unsaid:
        yield f"The file says {' and '.join(unsaid)}; sind's default stands in."


def _cluster(found: Found, fallback: str) -> Table:
    keys = (
        *image(found, fallback),
        *_identity(found),
        *_managed(found),
        *_defaults(found),
        *storage(found),
        *nodes(found),
        *people(found),
        *slurm_text(found),
    )
    return Table(keys, below=unsaid_storage(found))


def _identity(found: Found) -> Iterator[Key]:
    identity = found.map.get("identity")
    if identity is None:
        return
    mode = identity.map.get("mode", identity)
    if mode.is_wrong:
        yield Key("identity", WRONG, mode.place)
    elif isinstance(mode.value, str):
        yield Key("identity", _IDENTITIES[mode.value], mode.place)
    yield from (key for key in same(identity, {"controllerUsers": "controller_users"}) if key.value is not False)


def _managed(found: Found) -> Iterator[Key]:
    for node in found.list("nodes"):
        if node.text("role") == "controller" and node.flag("managed") is False:
            beside = "sind: an unmanaged controller makes every node unmanaged"
            yield Key("managed", False, node.place_of("managed"), beside=beside)  # noqa: FBT003 - the value itself
            return


def _defaults(found: Found) -> Iterator[Key]:
    defaults = found.map.get("defaults")
    if defaults is None:
        return
    # The image is said of the cluster.
    keys = tuple(key for key in options(defaults) if key.name != "image")
    if defaults.is_wrong or keys:
        yield Key("defaults", WRONG if defaults.is_wrong else Table(keys), defaults.place)
