"""Saved plans: what `plan --out` writes, and how it is read. What an apply of one demands is in `sindplan.reviewed`.

A plan file is a document (see render.document) that carries the declaration. It executes nothing by itself: a plan is made anew
from the declaration that it carries, and must do the same, or only less because a part is done already.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from sindplan import __version__
from sindplan.engine.port import Engine
from sindplan.errors import SindplanError
from sindplan.kinds.cluster_record import masked_secrets
from sindplan.kinds.reasons import is_drift
from sindplan.model.address import Address, below_any
from sindplan.model.canonical import canonical
from sindplan.model.declaration import Declaration
from sindplan.model.hidden import Hidden
from sindplan.observe.surroundings import HERE, Surroundings
from sindplan.plan.part import ALL, Part
from sindplan.preflight.allowed import Allowed
from sindplan.preflight.finding import Finding
from sindplan.render.document import Context, base, digest, document
from sindplan.render.reading import BAD, no_plan, read_document, table, text
from sindplan.render.values import hashed
from sindplan.slurm.port import Slurm
from sindplan.statefile.read import read_tables
from sindplan.statefile.recorded import spelled
from sindplan.statefile.secrets import plain_secrets
from sindplan.workflow import Prepared, clusters_of, prepare, prepare_destroy

LOSSES = frozenset({"jobs", "data"})
"""Checks whose findings name what is lost: consent to one loss is none to another."""


@frozen(kw_only=True)
class Options:
    """What a plan was made with beside the declaration.

    Attributes:
        replace: Nodes that were to be replaced though nothing of them differed.
        part: What of the plan was wanted.
        destroy: Whether what is declared was to be destroyed.
        allowed: What may be lost.
    """

    replace: tuple[Address, ...] = ()
    part: Part = ALL
    destroy: bool = False
    allowed: Allowed = field(factory=Allowed)


def describe(prepared: Prepared, declaration: Declaration, options: Options, timestamp: str) -> dict[str, Any]:
    """Return the document of a plan: what `--format json` prints and `--out` saves. It holds no secret.

    Args:
        timestamp: When it was made, as RFC 3339 has it.
    """
    declared = spelled(canonical(masked_secrets(declaration)))
    records = records_of(prepared)
    context = Context(
        drifted=lambda change: is_drift(change.reason),
        images=image_ids(prepared),
        extra={
            "blocked": prepared.blocked,
            "findings": [_finding(finding) for finding in prepared.findings],
            "privileges": list(prepared.privileges),
            "engine": prepared.engine.engine_id,
            "records": records,
            "base": base(prepared.before.observed().state, prepared.engine.engine_id, records),
            "desired": hashed(declared),
            "declaration": declared,
            "options": {
                "replace": [str(address) for address in options.replace],
                "target": [str(address) for address in options.part.targets],
                "exclude": [str(address) for address in options.part.excluded],
                "destroy": options.destroy,
                "allow_job_loss": options.allowed.jobs,
                "allow_data_loss": [str(address) for address in options.allowed.data],
                "prune": options.allowed.prune,
            },
        },
    )
    return document(prepared.plan, context, version=__version__, timestamp=timestamp, blocked=prepared.blocked)


def _chosen(clusters: Sequence[Address], part: Part) -> tuple[Address, ...]:
    """Return the clusters that a part of a destroy takes: whole ones, since the end of a node would be that of its cluster."""
    for named in (*part.targets, *part.excluded):
        if not any(below_any(cluster, (named,)) for cluster in clusters):
            raise SindplanError(
                f"No cluster is declared at {named}.", "Name a realm, or REALM/CLUSTER: --destroy takes whole ones."
            )
    return tuple(
        cluster
        for cluster in clusters
        if (not part.targets or below_any(cluster, part.targets)) and not below_any(cluster, part.excluded)
    )


def prepare_with(
    engine: Engine,
    slurm: Slurm,
    declaration: Declaration,
    options: Options,
    *,
    probe: bool = True,
    passwords: Mapping[Address, Hidden] | None = None,
    surroundings: Surroundings = HERE,
) -> Prepared:
    """Plan with the options of a plan: see `workflow.prepare` and `workflow.prepare_destroy`. Only reads."""
    if options.destroy:
        clusters = _chosen(clusters_of(declaration), options.part)
        return prepare_destroy(
            engine,
            slurm,
            clusters,
            declaration=declaration,
            allow_job_loss=options.allowed.jobs,
            surroundings=surroundings,
        )
    return prepare(
        engine,
        slurm,
        declaration,
        probe=probe,
        passwords=passwords,
        replace=options.replace,
        allowed=options.allowed,
        part=options.part,
        surroundings=surroundings,
    )


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
    hidden = masked_secrets(declaration)
    if places := ", ".join(
        f"{realm}/{name}"
        for realm, content in declaration.realms.items()
        for name, cluster in content.clusters.items()
        if cluster.slurm != hidden.realms[realm].clusters[name].slurm
    ):
        raise SindplanError(
            f"A plan file holds no secrets, and Slurm's text has what is hidden as one in {places}: it would be lost.",
            "Apply the state file itself, by the digest of what was reviewed: sindplan apply --approve sha256:…",
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
    content = read_document(path, data)
    inner = content["sindplan"]
    try:
        options = inner["options"]
        return SavedPlan(
            path=path,
            digest=text(inner["digest"]),
            engine=text(inner["engine"]),
            declaration=read_tables(table(inner["declaration"]), path),
            options=Options(
                replace=_addresses(options["replace"]),
                part=Part(targets=_addresses(options["target"]), excluded=_addresses(options["exclude"])),
                destroy=options["destroy"] is True,
                allowed=Allowed(
                    jobs=options["allow_job_loss"] is True,
                    data=_addresses(options["allow_data_loss"]),
                    prune=options["prune"] is True,
                ),
            ),
            records={text(address): text(record) for address, record in table(inner["records"]).items()},
            changes={text(change["address"]): _change(change) for change in content["resource_changes"]},
            losses=frozenset(text(found["what"]) for found in inner["findings"] if found["check"] in LOSSES),
        )
    except BAD as error:
        raise no_plan(path) from error


def _addresses(values: list[Any]) -> tuple[Address, ...]:
    return tuple(Address.parse(text(value)) for value in values)


def _change(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a change's table when it has what is compared."""
    inner = change["sindplan"]
    for value in (inner["digest"], inner["id"]):
        text(value)
    for side in ("before", "after"):
        if change["change"][side] is not None:
            table(change["change"][side])
    return change
