"""sind's storage said here. A volume is both tools' default, but not that of sind's command line."""

from collections.abc import Iterator

from sindplan.convert.found import WRONG, Found
from sindplan.convert.tables import Key, Table, same

_UNSAID = (
    "The file does not say where the data folder is. sind's command line then binds the folder in which it is called",
    "(--data); sindplan makes a volume. To bind the folder of this state file instead:",
)


def storage(found: Found) -> Iterator[Key]:
    """Yield the table, where it would say anything."""
    said = found.map.get("storage")
    if said is None:
        return
    data = said.map.get("dataStorage", Found(said.place, {}))
    if said.is_wrong or data.is_wrong:
        yield Key("storage", WRONG, data.place)
        return
    cvmfs = (key for key in same(said, {"cvmfs": "cvmfs"}) if key.value is not False)
    keys = (*_host_path(data), *same(data, {"mountPath": "mount_path"}), *cvmfs)
    if keys:
        below = (*_UNSAID, 'host_path = "."') if _is_unsaid(found) else ()
        yield Key("storage", Table(keys, below=below), said.place)


def unsaid_storage(found: Found) -> tuple[str, ...]:
    """Return the comment on a cluster without the table."""
    has_table = any(True for _ in storage(found))
    return (*_UNSAID, 'storage.host_path = "."') if _is_unsaid(found) and not has_table else ()


def _is_unsaid(found: Found) -> bool:
    said = found.map.get("storage", Found(found.place, {}))
    data = said.map.get("dataStorage", said)
    return not data.said("type") and not data.said("hostPath")


def _host_path(data: Found) -> Iterator[Key]:
    place, path = data.place_of("hostPath"), data.text("hostPath")
    if data.text("type") == "volume":
        return
    if path is None:
        yield from same(data, {"hostPath": "host_path"})
    elif path.startswith("/"):
        yield Key("host_path", path, place)
    else:
        above = ("Seen from the folder of this state file; sind sees it from where it is called.",)
        # Neither tool expands `~`, and here it would be refused.
        yield Key("host_path", f"./{path}" if path.startswith("~") else path, place, above=above)
