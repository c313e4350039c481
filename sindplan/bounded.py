"""JSON of anybody's, read in bounded memory: what is small as text can be vast as objects."""

import json
from collections.abc import Callable
from typing import Any

MOST_VALUES = 2_000_000
"""A plan of 1,000 nodes has a tenth of it. A list takes 64 bytes at least, of three in the text."""


def json_of(
    data: bytes,
    *,
    table: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constant: Callable[[str], Any] | None = None,
) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return what a JSON text says.

    Args:
        table: Makes a table of its pairs; a dict unless given.
        constant: Takes what is no JSON, NaN and Infinity; floats unless given.

    Raises:
        ValueError: It is none, or has more than `MOST_VALUES` values.
        RecursionError: It is nested too deep.
    """
    # Commas within texts are counted as well, which few have so many of.
    if sum(map(data.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    return json.loads(data, object_pairs_hook=table, parse_constant=constant)
