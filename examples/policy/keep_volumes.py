#!/usr/bin/env python3
"""The policies of keep_volumes.rego without Conftest: `sindplan plan --format json | ./keep_volumes.py`.

Reads a plan on stdin. Prints what is denied or warned of; exits with 1 when something is denied.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any


def denied(plan: Any) -> Iterator[str]:
    """Yield why a plan may not be applied, a sentence each."""
    if not is_plan(plan):
        yield "this is not a plan of sindplan's, or one of another format"
        return
    for change in plan["resource_changes"]:
        # A volume holds data: no plan may remove or replace one.
        if change["type"] == "volume" and "delete" in change["change"]["actions"]:
            yield f"{change['address']} would be removed, and the data in it"


def warned(plan: Any) -> Iterator[str]:
    """Yield what people should know, a sentence each."""
    for change in plan["resource_changes"] if is_plan(plan) else ():
        if change["sindplan"]["cause"] == "drift":
            yield f"{change['address']} was changed by hand: {change['sindplan']['reason']}"


def is_plan(plan: Any) -> bool:
    """Say whether it is a plan in the format that these policies know."""
    return (
        isinstance(plan, dict)
        and str(plan.get("format_version", "")).startswith("1.")
        and isinstance(plan.get("sindplan"), dict)
        and plan["sindplan"].get("format") == 1
        and isinstance(plan.get("resource_changes"), list)
    )


if __name__ == "__main__":
    try:
        found = json.load(sys.stdin)
    except ValueError:
        found = None
    for sentence in warned(found):
        print(ascii(f"WARN - {sentence}")[1:-1])
    refusals = list(denied(found))
    for sentence in refusals:
        print(ascii(f"FAIL - {sentence}")[1:-1])
    sys.exit(1 if refusals else 0)
