"""Images that an apply fetches: those that it pulls every time, those that the engine lacks; and what they have."""

import secrets
from collections.abc import Callable, Iterator

from attrs import evolve

from sindplan.engine.port import Engine
from sindplan.engine.records import Image
from sindplan.errors import EngineError, NotFound, SindplanError
from sindplan.model.declaration import Declaration
from sindplan.model.kind import MAKING
from sindplan.model.layout import images_to_pull, is_pinned, lay_out, node_images
from sindplan.observe.observation import look_up
from sindplan.observe.probes import probe_image
from sindplan.preflight.finding import Finding, warning
from sindplan.workflow import Prepared


def pull_images(engine: Engine, declaration: Declaration, say: Callable[[str], None]) -> tuple[Finding, ...]:
    """Pull the images of clusters with `pull = true`, each once: before a plan is made, which shows the tags that moved.

    An image that is on the engine and in no registry was made there (`docker build`, `docker load`), and is used with a warning:
    beside it the cluster may have others that are pulled. A registry that fails to answer is an error, since nobody knows then
    whether what the engine has is what was asked for. A reference by digest is pulled where it is missing.

    Args:
        say: Hears what is being done, a few words at a time.

    Raises:
        SindplanError: An image cannot be had.
    """
    return tuple(_pull_all(engine, declaration, say))


def _pull_all(engine: Engine, declaration: Declaration, say: Callable[[str], None]) -> Iterator[Finding]:
    for reference in images_to_pull(declaration):
        before = engine.image(reference)
        if before is None:
            _pulled(engine, reference, say)
            continue
        if is_pinned(reference):
            continue
        say(f"pulling {reference}")
        try:
            now = engine.pull(reference)
        except NotFound as error:
            yield warning(
                "pull",
                f"No registry that may be read has {reference!r}, which every apply is to pull; the one on the engine is used. "
                f"Docker says: {error.text.rstrip('.')}.",
                "If it was not made here: docker login, or correct its name.",
            )
        except EngineError as error:
            raise SindplanError(
                f"The image {reference!r} could not be pulled, as `pull = true` wants it: {error.summary}",
                "Mend that, or say pull = false to go on with the image that the engine has.",
            ) from error
        else:
            if now.id != before.id:
                say(f"{reference} means another image than before")


def pull_notice(declaration: Declaration) -> str:
    """Return what a plan has to say of the pulling that it leaves to apply; empty when there is none."""
    images = [image for image in images_to_pull(declaration) if not is_pinned(image)]
    if not images:
        return ""
    return (
        f"Apply pulls {', '.join(images)} first; what a tag that has moved changes is in its plan, and not in this one."
    )


def get_images(engine: Engine, declaration: Declaration, prepared: Prepared, say: Callable[[str], None]) -> bool:
    """Pull images that a plan needs and the engine lacks, and look once into those that say nothing of themselves.

    Args:
        say: Hears what is being done, a few words at a time.

    Returns:
        Whether more is known now than before, so that a plan must be made anew.

    Raises:
        SindplanError: An image cannot be had.
    """
    facts = prepared.before.facts()
    # Also what was left half made is created; what only has to be started needs no image.
    new = {change.address for change in prepared.plan.changes if change.operation in MAKING}
    new |= {change.address for change in prepared.plan.changes if any(field.name == "made" for field in change.fields)}
    needed = {getattr(change.after, "image", "") for change in prepared.plan.changes if change.address in new}
    images = dict(facts.images)
    learnt = False
    for reference in node_images(declaration):
        image = engine.image(reference)
        if image is None and reference in needed:
            image, learnt = _pulled(engine, reference, say), True
        if image is not None and not look_up(engine, reference).probed:
            say(f"looking into {reference}")
            probe_image(engine, reference, image.id, secrets.token_hex(4))
            learnt = True
        images[reference] = look_up(engine, reference)
    # Which DNS server there will be depends on what the node images carry; it is not asked which Slurm it has.
    for mesh in lay_out(declaration, evolve(facts, images=images)).meshes:
        if mesh.address / "dns" in new and engine.image(mesh.dns_image) is None:
            _pulled(engine, mesh.dns_image, say)
            learnt = True
    return learnt


def _pulled(engine: Engine, reference: str, say: Callable[[str], None]) -> Image:
    say(f"pulling {reference}")
    try:
        return engine.pull(reference)
    except EngineError as error:
        raise SindplanError(
            f"The image {reference!r} is not on the engine and could not be pulled: {error.summary}",
            "Make it (tools/image), load it (docker load), or name another in the state file.",
        ) from error
