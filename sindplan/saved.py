"""Saved plans: what `plan --out` writes, and how it is read. What an apply of one demands is in `sindplan.reviewed`.

A plan file is a document (see render.document) that carries the declaration. It executes nothing by itself: a plan is made anew
from the declaration that it carries, and must do the same, or only less because a part is done already.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from sindplan import __version__
from sindplan.bounded import json_of
from sindplan.errors import SindplanError
from sindplan.kinds.cluster_record import masked_secrets
from sindplan.kinds.reasons import is_drift
from sindplan.model.address import Address
from sindplan.model.canonical import canonical
from sindplan.model.declaration import Declaration
from sindplan.preflight.allowed import Allowed
from sindplan.preflight.finding import Finding
from sindplan.render.document import FORMAT, Context, digest, document
from sindplan.statefile.read import read_tables
from sindplan.statefile.recorded import spelled
from sindplan.statefile.secrets import plain_secrets
from sindplan.workflow import Prepared

LARGEST_PLAN = 32 * 1024 * 1024
"""Bytes. A plan of 1,000 nodes has about 6 MiB."""
LOSSES = frozenset({"jobs", "data"})
"""Checks whose findings name what is lost: consent to one loss is none to another."""


@frozen(kw_only=True)
class Options:
    """What a plan was made with beside the declaration.

    Attributes:
        replace: Nodes that were to be replaced though nothing of them differed.
        allowed: What may be lost.
    """

    replace: tuple[Address, ...] = ()
    allowed: Allowed = field(factory=Allowed)


def describe(prepared: Prepared, declaration: Declaration, options: Options, timestamp: str) -> dict[str, Any]:
    """Return the document of a plan: what `--format json` prints and `--out` saves. It holds no secret.

    Args:
        timestamp: When it was made, as RFC 3339 has it.
    """
    context = Context(
        drifted=lambda change: is_drift(change.reason),
        images=image_ids(prepared),
        extra={
            "blocked": prepared.blocked,
            "findings": [_finding(finding) for finding in prepared.findings],
            "privileges": list(prepared.privileges),
            "engine": prepared.engine.engine_id,
            "records": records_of(prepared),
            "declaration": spelled(canonical(masked_secrets(declaration))),
            "options": {
                "replace": [str(address) for address in options.replace],
                "allow_job_loss": options.allowed.jobs,
                "allow_data_loss": [str(address) for address in options.allowed.data],
                "prune": options.allowed.prune,
            },
        },
    )
    return document(prepared.plan, context, version=__version__, timestamp=timestamp, blocked=prepared.blocked)


def image_ids(prepared: Prepared) -> Mapping[str, str]:
    """Return the ids of the images that a plan may make nodes from."""
    return {reference: facts.id for reference, facts in prepared.before.facts().images.items()}


def digest_of(prepared: Prepared) -> str:
    """Return the digest of a plan."""
    return digest(prepared.plan, image_ids(prepared))


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "check": finding.check,
        "severity": finding.severity.value,
        "what": finding.what,
        "fix": finding.fix,
    }


def records_of(prepared: Prepared) -> dict[str, str]:
    """Return the id of each cluster's record. An apply that is done writes it anew, so a plan works once."""
    found = {cluster.address: cluster.records for cluster in prepared.before.evidence.clusters}
    return {str(address): records[0].id if (records := found.get(address, ())) else "" for address in prepared.clusters}


def check_savable(declaration: Declaration) -> None:
    """Refuse to save a plan that could not be applied without the secrets that it leaves out."""
    secrets = plain_secrets(declaration)
    if secrets:
        places = ", ".join(f"{one.realm}/{one.cluster}: {'.'.join(map(str, one.key))}" for one in secrets)
        raise SindplanError(
            f"A plan file holds no secrets, and these stand in the state file in plain text: {places}.",
            'Say where they are: storage_password = { env = "SINDPLAN_SECRET_…" } or { file = "…" }.',
        )


@frozen(kw_only=True)
class SavedPlan:
    """A plan that was read from a file.

    Attributes:
        path: Of the file, as it was given.
        changes: By address: the document's own tables.
    """

    path: Path
    digest: str
    engine: str
    declaration: Declaration
    options: Options
    records: Mapping[str, str]
    changes: Mapping[str, Mapping[str, Any]]
    losses: frozenset[str]


def read_plan(path: Path, data: bytes) -> SavedPlan:
    """Return the plan in a file's bytes.

    Raises:
        SindplanError: It is none, or one of another version.
        DeclarationInvalid: Its declaration is not valid.
    """
    try:
        content = json_of(data)
        inner = content["sindplan"]
        made_by, version = str(inner.get("version", "another sindplan")), inner["format"]
        if version != FORMAT:
            raise SindplanError(
                f"{path} is a plan of sindplan {made_by}, which this version ({__version__}) does not understand.",
                "Make the plan anew: sindplan plan --out FILE",
            )
        options = inner["options"]
        return SavedPlan(
            path=path,
            digest=_text(inner["digest"]),
            engine=_text(inner["engine"]),
            declaration=read_tables(_table(inner["declaration"]), path),
            options=Options(
                replace=_addresses(options["replace"]),
                allowed=Allowed(
                    jobs=options["allow_job_loss"] is True,
                    data=_addresses(options["allow_data_loss"]),
                    prune=options["prune"] is True,
                ),
            ),
            records={_text(address): _text(record) for address, record in _table(inner["records"]).items()},
            changes={_text(change["address"]): _change(change) for change in content["resource_changes"]},
            losses=frozenset(_text(found["what"]) for found in inner["findings"] if found["check"] in LOSSES),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SindplanError(
            f"{path} is not a plan that sindplan saved.", "Make one with: sindplan plan --out FILE"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _addresses(values: list[Any]) -> tuple[Address, ...]:
    return tuple(Address.parse(_text(value)) for value in values)


def _change(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a change's table when it has what is compared."""
    inner = change["sindplan"]
    for text in (inner["digest"], inner["id"]):
        _text(text)
    for side in ("before", "after"):
        if change["change"][side] is not None:
            _table(change["change"][side])
    return change
