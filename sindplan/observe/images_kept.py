"""Which images nodes keep: a tag that moved replaces nothing unasked, and another name of the same image nothing at all."""

from collections.abc import Mapping

from attrs import evolve

from sindplan.kinds.mesh_container import MeshContainer
from sindplan.kinds.node_resource import Node
from sindplan.model.facts import ImageFacts
from sindplan.model.resource import Resource, State


def with_running_images(wanted: State, seen: State, images: Mapping[str, ImageFacts]) -> State:
    """Return what is wanted, with the images that nodes run where those will do.

    Args:
        images: What is known of images, by reference.
    """

    def kept(node: Node, before: Node) -> Node:
        found = images.get(node.image)
        same = found is not None and found.id != "" and found.id == before.image_id
        return evolve(node, image=before.image if same else node.image, image_id=node.image_id or before.image_id)

    def kept_in_mesh(container: MeshContainer, before: MeshContainer) -> MeshContainer:
        found = images.get(container.image)
        same = found is not None and found.id != "" and found.id == before.image_id
        return evolve(container, image=before.image) if same else container

    def with_image(resource: Resource, before: Resource | None) -> Resource:
        if isinstance(resource, Node) and isinstance(before, Node) and before.made:
            return kept(resource, before)
        if isinstance(resource, MeshContainer) and isinstance(before, MeshContainer):
            return kept_in_mesh(resource, before)
        return resource

    return {address: with_image(resource, seen.get(address)) for address, resource in wanted.items()}
