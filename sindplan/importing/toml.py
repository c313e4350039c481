"""A declaration as the text of a state file."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tomli_w

from sindplan.model.canonical import canonical
from sindplan.model.declaration import Cluster, Declaration
from sindplan.model.units import spell_duration, spell_memory

_SPELLED: Mapping[str, Callable[[int], str]] = {"memory": spell_memory, "drain_timeout": spell_duration}
"""Numbers that have a unit in a state file."""
_BASIC_PLANE_END = 0xFFFF


def state_file(declaration: Declaration, notes: Iterable[str]) -> str:
    """Return the text; `notes` become comments at its head."""
    realms = {
        realm: {
            **({"mesh": canonical(spec.mesh)} if canonical(spec.mesh) else {}),
            "clusters": {name: _tables(cluster) for name, cluster in sorted(spec.clusters.items())},
        }
        for realm, spec in sorted(declaration.realms.items())
    }
    document = {"version": declaration.version, "name": declaration.name, "realms": realms}
    head = "".join(f"# {line}\n" for note in notes for line in note.splitlines())
    return _UNSEEN.sub(_spelt_out, head + ("\n" if head else "") + tomli_w.dumps(document, multiline_strings=True))


# tomli_w knows double quotes only, in which this means the same character; it leaves some that command a terminal.
_UNSEEN = re.compile(r"[^\n\t -~]")


def _spelt_out(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= _BASIC_PLANE_END else f"\\U{code:08x}"


def _tables(cluster: Cluster) -> dict[str, Any]:
    data = _spelled(canonical(cluster))
    # What every cluster has is shown even when nothing is said of it.
    whole: dict[str, Any] = {"controller": {}, "workers": {"default": {}}, **data}
    return dict(sorted(whole.items(), key=lambda item: isinstance(item[1], dict)))


def _spelled(data: Any) -> Any:  # noqa: ANN401 - TOML has no narrower type
    if isinstance(data, dict):
        return {
            key: _SPELLED[key](value) if key in _SPELLED and isinstance(value, int) else _spelled(value)
            for key, value in data.items()
        }
    return [_spelled(item) for item in data] if isinstance(data, list) else data
