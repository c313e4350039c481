"""The page docs/what-a-change-costs.md, made from the marks of fields, the steps of kinds, and the tables of Slurm's parameters."""

from collections.abc import Iterable, Iterator

from attrs import Attribute, fields

from sindplan.kinds.registry import KINDS
from sindplan.model.kind import Kind, Step
from sindplan.model.resource import Cost
from sindplan.slurm.effects import FILES, RECORDS, Effect
from sindplan.slurm.parameters import KNOWN, ORDER, RESTARTS, SINCE, UNKNOWN, Rule
from sindplan.statefile.slurm_parameters import TAKEN

_HEAD = """\
# What a change costs

What apply does for each thing that can change, with the least that must happen. A plan shows it before anything is done; what would
end jobs or begin them anew is shown with their ids, and needs `--allow-job-loss`. [clusters.md](clusters.md#what-a-change-costs) says
the same by keys of the state file.

This page is generated from the tables that the planner itself works by.
"""

_SLURM = """\
## Slurm's configuration

A new configuration is tried in a throwaway slurmctld before it is written, which takes less than a second. Then it is written and
read, at the least cost that its parameters have. `scontrol reconfigure` puts new processes in the place of slurmctld and of every
slurmd; jobs go on, and go on as well through a restart of any of these daemons.

Restarts come in the order {order}; of two controllers the first before its backup. An apply that was killed
before them leaves marks (`/etc/slurm/.sindplan-restart-*`), and the next one does them.

### Parameters that need more than `scontrol reconfigure`

{restarts}

{unknown}: restart of {unknown_daemons} ({unknown_source}).

### Parameters for which `scontrol reconfigure` is enough

{enough}

Of these, Slurm before 26.05 does not know {since}.

### Parameters that sindplan alone sets

{taken}

### Nodes and partitions

{records}

### Files

{files}
"""


def costs() -> str:
    """Return the page."""
    resources = "\n\n".join(_of_kind(kind) for kind in KINDS.values() if _changing(kind))
    return f"{_HEAD}\n{_of_slurm()}\n## Resources\n\nBy address and field, as plans show them.\n\n{resources}\n"


def _of_slurm() -> str:
    enough = [name for name in sorted(KNOWN.values()) if name not in RESTARTS and name not in TAKEN["main"]]
    return _SLURM.format(
        order=", ".join(ORDER),
        restarts=_table(("parameter", "restart of", "source"), _restarts()),
        unknown="A parameter that no table names",
        unknown_daemons=_joined(UNKNOWN.daemons),
        unknown_source=UNKNOWN.source,
        enough=_wrapped(enough),
        since=", ".join(f"`{name}`" for name in SINCE),
        taken=_table(
            ("file", "parameter", "why"),
            (
                (f"`{'slurm' if section == 'main' else section}.conf`", f"`{key}`", reason)
                for section, keys in TAKEN.items()
                for key, reason in keys.items()
            ),
        ),
        records=_effects(RECORDS),
        files=_effects(FILES),
    )


def _restarts() -> Iterator[tuple[str, ...]]:
    groups: dict[Rule, list[str]] = {}
    for name, rule in RESTARTS.items():
        groups.setdefault(rule, []).append(name)
    for rule, names in groups.items():
        more = "" if "slurmctld" in rule.daemons else ", beside `scontrol reconfigure`"
        yield ", ".join(f"`{name}`" for name in names), _joined(rule.daemons) + more, rule.source


def _effects(effects: Iterable[Effect]) -> str:
    rows = ((effect.change, effect.cost, effect.jobs, effect.source) for effect in effects)
    return _table(("change", "what apply does", "jobs that run", "source"), rows)


def _changing(kind: Kind) -> list["Attribute[object]"]:
    return [field for field in fields(kind.resource) if field.metadata["cost"] is not Cost.IGNORED]


def _of_kind(kind: Kind) -> str:
    says = (kind.resource.__doc__ or "").strip().splitlines()[0]
    rows = [(f"`{field.name}`", *_cost(kind, field.name, field.metadata["cost"])) for field in _changing(kind)]
    comes = (("it comes", "create", _says(kind.create)), ("it goes", "delete", _says(kind.delete)))
    return f"### `{kind.name}`\n\n{says}\n\n{_table(('change', 'cost', 'steps'), (*comes, *rows))}"


def _cost(kind: Kind, name: str, cost: Cost) -> tuple[str, str]:
    if cost is Cost.REPLACE:
        # Whatever the manner, the successor comes in the place of the old one.
        steps = kind.replace.get("plain", ())
        return ("replace", _says(steps)) if steps else ("forbidden", "the plan is shown and blocked")
    return cost.value, _says(kind.update[name])


def _says(steps: Iterable[Step]) -> str:
    return ", ".join(dict.fromkeys(step.says for step in steps)) or "with what carries it"


def _joined(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _wrapped(names: Iterable[str]) -> str:
    lines, line = list[str](), ""
    for name in names:
        item = f"`{name}`"
        if len(line) + len(item) > 118:  # noqa: PLR2004 - the width of the page
            lines.append(line.rstrip())
            line = ""
        line += f"{item}, "
    return "\n".join([*lines, line]).removesuffix(", ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
