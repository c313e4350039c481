"""Which images nodes keep: a tag that moved replaces nothing unasked, and another name of the same image nothing at all."""

from collections.abc import Mapping

from attrs import evolve

from sindplan.kinds.node_resource import Node
from sindplan.model.facts import ImageFacts
from sindplan.model.resource import State


def with_running_images(wanted: State, seen: State, images: Mapping[str, ImageFacts]) -> State:
    """Return what is wanted, with the images that nodes run where those will do.

    Args:
        images: What is known of images, by reference.
    """

    def kept(node: Node, before: Node) -> Node:
        found = images.get(node.image)
        same = found is not None and found.id != "" and found.id == before.image_id
        return evolve(node, image=before.image if same else node.image, image_id=node.image_id or before.image_id)

    return {
        address: (
            kept(resource, before)
            if isinstance(resource, Node) and isinstance(before := seen.get(address), Node) and before.made
            else resource
        )
        for address, resource in wanted.items()
    }
