"""How images are called: Docker adds a tag, and its own registry's name may be left out."""

from collections.abc import Mapping

from sindplan.engine.records import Image

_DEFAULT = ("docker.io/library/", "docker.io/", "index.docker.io/library/", "index.docker.io/")


def tagged(reference: str) -> str:
    """Add the tag that Docker adds."""
    last = reference.rpartition("/")[2]
    return reference if ":" in last or "@" in last else f"{reference}:latest"


def familiar(reference: str) -> str:
    """Return a reference as Docker lists it: with a tag, and without the name of its own registry."""
    full = tagged(reference)
    return next((full.removeprefix(prefix) for prefix in _DEFAULT if full.startswith(prefix)), full)


def find_image(images: Mapping[str, Image], reference: str) -> Image | None:
    """Return the image that a reference, an id or the beginning of one means; None when there is none.

    Args:
        images: By reference, as the engine lists them.
    """
    if found := images.get(familiar(reference)):
        return found
    digest = reference.removeprefix("sha256:")
    matching = {one.id: one for one in images.values() if digest and one.id.startswith(f"sha256:{digest}")}
    return next(iter(matching.values())) if len(matching) == 1 else None
