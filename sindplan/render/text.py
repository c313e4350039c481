"""A plan as text, in terraform's manner: symbols, a reason for each change, diffs of files, terraform's summary line.

Removals and replacements come first. Equal changes of several resources are one block, names of workers folded as a node set.
"""

from collections.abc import Callable, Iterator, Mapping

from sindplan.model.kind import Operation
from sindplan.plan.plan import Plan
from sindplan.render.node_sets import fold
from sindplan.render.review import ORDER, Block, Review, review, told

SYMBOLS = {
    Operation.DELETE: "-",
    Operation.REPLACE: "-/+",
    Operation.UPDATE: "~",
    Operation.CREATE: "+",
}
VERDICTS = {
    Operation.DELETE: "will be destroyed",
    Operation.REPLACE: "must be replaced",
    Operation.UPDATE: "will be updated in-place",
    Operation.CREATE: "will be created",
}
_LEGEND = {
    Operation.DELETE: "destroy",
    Operation.REPLACE: "destroy and then create replacement",
    Operation.UPDATE: "update in-place",
    Operation.CREATE: "create",
}
WILL_DO = "sindplan will perform the following actions:"
_NOTHING_OF_IT = "No changes to what was named."
NO_CHANGES = "No changes. Your clusters match the declaration."


def render_text(plan: Plan, nothing: str = NO_CHANGES, heading: str = WILL_DO) -> str:
    """Return a plan as text with a newline at its end; `nothing` is said of an empty one."""
    return review_text(review(plan), nothing, heading)


def review_text(found: Review, nothing: str = NO_CHANGES, heading: str = WILL_DO) -> str:
    """Return a plan in words as text, likewise."""
    if not found.entries:
        return "\n".join([_NOTHING_OF_IT if found.left_out else nothing, *partly(found.left_out)]) + "\n"
    counts = found.counts
    lines = [heading, ""]
    lines += [f"{SYMBOLS[operation]:>5} {_LEGEND[operation]}" for operation in reversed(ORDER) if counts[operation]]
    for block in told(found):
        lines += ["", *_block(block)]
    return "\n".join([*lines, "", *summary(counts, found.left_out)]) + "\n"


def headline(found: Review) -> str:
    """Return one line that says how much a plan does."""
    if found.entries:
        return " ".join(summary(found.counts, found.left_out))
    if found.blocked:
        return "Blocked."
    return " ".join([_NOTHING_OF_IT if found.left_out else NO_CHANGES, *partly(found.left_out)])


def summary(counts: Mapping[Operation, int], left_out: int = 0) -> list[str]:
    """Return terraform's summary line, and our own about replacements and about what a part of a plan leaves out."""
    lines = [f"Plan: {tally(counts)}."]
    if replaced := counts[Operation.REPLACE]:
        lines.append(f"{replaced} of these {'is a replacement' if replaced == 1 else 'are replacements'}.")
    return lines + partly(left_out)


def partly(left_out: int) -> list[str]:
    """Return a line that says of a part of a plan that it is one."""
    if not left_out:
        return []
    changes = "1 change of the whole one is" if left_out == 1 else f"{left_out} changes of the whole one are"
    return [f"This is a part of the plan: {changes} left out (--target, --exclude)."]


def tally(counts: Mapping[Operation, int]) -> str:
    """Return what is added, changed and destroyed, as terraform counts: what is replaced is added and destroyed."""
    replaced = counts[Operation.REPLACE]
    added, destroyed = counts[Operation.CREATE] + replaced, counts[Operation.DELETE] + replaced
    return f"{added} to add, {counts[Operation.UPDATE]} to change, {destroyed} to destroy"


def heading_lines(block: Block, shorten: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the addresses of a block, folded and each shortened if so wanted, and what happens to them."""
    *others, last = fold(map(shorten, block.names))
    yield from others
    count = f" ({len(block.entries)} resources)" if len(block.entries) > 1 else ""
    yield f"{last} {VERDICTS[block.first.operation]}{count}"


def _block(block: Block) -> Iterator[str]:
    first = block.first
    yield from (f"  # {line}" for line in heading_lines(block))
    yield f"  # ({first.reason})"
    yield f"{SYMBOLS[first.operation]:>3} {first.kind}"
    yield from (f"      {line}" for line in first.body)
