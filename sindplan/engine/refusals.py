"""Which error an engine's answer is, and what can be done about it: two tables.

The real and the simulated engine both make their refusals here, so that a status and a text always mean the same class.
"""

from sindplan.errors import Conflict, EngineRefused, NotFound

# Docker answers some conflicts with 403 or 500: the text tells them from real prohibitions.
_CLASS_BY_TEXT: tuple[tuple[str, type[EngineRefused]], ...] = (
    ("has active endpoints", Conflict),
    ("already exists in network", Conflict),
    ("address already in use", Conflict),
    ("is already attached to network", Conflict),
    ("is not paused", Conflict),
    # Of files in a container that is being removed.
    ("is unexpectedly nil", NotFound),
    # Of a pull, once its answer has begun, which says 200 then.
    ("pull access denied", NotFound),
    ("manifest unknown", NotFound),
)

_CLASS_BY_STATUS: dict[int, type[EngineRefused]] = {404: NotFound, 409: Conflict}

_FIX_BY_TEXT: tuple[tuple[str, str], ...] = (
    (
        "all predefined address pools have been fully subnetted",
        "Remove unused networks (docker network prune), declare a subnet, or give the engine more default-address-pools.",
    ),
    (
        "pool overlaps with other one",
        "Another network of this engine holds these addresses: declare another subnet, or none to let Docker choose.",
    ),
    (
        "no space left on device",
        "The engine's disk is full: docker system df says by what. Make room (docker image prune), and apply again.",
    ),
    ("disk quota exceeded", "The engine's disk quota is used up: make room, and apply again."),
    (
        "exchange full",
        "A Linux bridge holds 1023 endpoints at most: spread the nodes over several clusters or realms.",
    ),
    ("no such image", "Pull or build the image first, or correct its name."),
    ("minimum memory limit allowed", "Give the node 6m of memory or more."),
    ("bind source path does not exist", "The path must exist on the engine's machine."),
    (
        "error looking up volume plugin",
        "Install and enable the plugin on the engine: docker plugin ls lists what it has.",
    ),
    ("volume name must be unique", "Another driver has a volume of this name: remove it, if nobody needs it."),
    ("unknown capability", "See capabilities(7) for the names."),
    ("capability not supported", "The engine itself does not have it: it runs without, or its kernel knows it not."),
    ("error gathering device information", "The device must exist on the engine's machine."),
    (
        "unresolvable cdi devices",
        "The engine's machine needs a CDI specification of the device (/etc/cdi, /var/run/cdi).",
    ),
    ("invalid --security-opt", "See docker run --security-opt for what there is."),
    ("decoding seccomp profile failed", "The engine takes the profile itself, a JSON object."),
    ("networks have overlapping ipv4", "Another network has these addresses: give the cluster another subnet."),
    ("failed to allocate gateway", "Another network took these addresses at the same moment: apply again."),
    (
        "address already in use",
        "Another container has this fixed address, or the engine has not let go of it yet.",
    ),
)


def refusal(verb: str, name: str, status: int, text: str) -> EngineRefused:
    """Make the error for an engine's answer."""
    text = text.strip()
    lower = text.lower()
    by_text = (kind for part, kind in _CLASS_BY_TEXT if part in lower)
    kind = next(by_text, None) or _CLASS_BY_STATUS.get(status, EngineRefused)
    fix = next((fix for part, fix in _FIX_BY_TEXT if part in lower), "")
    return kind(verb, name, status, text, fix)
