"""Generated declarations: small ones of all the shapes that this version builds, as TOML's tables and as classes."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from sindplan.model.declaration import Declaration
from sindplan.statefile.structure import structure

SETTINGS = settings(max_examples=100, deadline=None)
"""How hard laws are tried; a law that is slow says less for itself: `settings(SETTINGS, max_examples=20)`."""

IMAGES = ("sindplan-node:26.05", "sindplan-node:25.11", "registry.example:5000/hpc/node@sha256:" + "0f" * 32)
REALMS = ("sind", "ci-1001", "z")
# None of them is the end of a realm's name: no two pairs of realm and cluster compute equal names.
CLUSTERS = ("dev", "default", "0", "a" * 63)
GROUPS = ("cpu", "gpu", "default", "big-memory")
MEMORY = ("512m", "1g", "1.5g", "768MiB", "536870912")
TMP_SIZES = ("64m", "10%", "256M")
DURATIONS = ("0s", "90s", "1h30m")


def _tables(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


def _options(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return tables with what can be said of every node, and more."""
    return _tables(
        {},
        image=st.sampled_from(IMAGES),
        cpus=st.integers(1, 3),
        memory=st.sampled_from(MEMORY),
        tmp_size=st.sampled_from(TMP_SIZES),
        **more,
    )


@st.composite
def _workers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw 0 to 3 groups of together 0 to 4 workers, each group counted or named."""
    groups: dict[str, Any] = {}
    left = 4
    indexes = draw(st.permutations(range(12)))
    for name in draw(st.lists(st.sampled_from(GROUPS), max_size=3, unique=True)):
        count = draw(st.integers(0, left))
        left -= count
        group = draw(_options(drain_timeout=st.sampled_from(DURATIONS)))
        if count and draw(st.booleans()):
            named, indexes = sorted(indexes[:count]), indexes[count:]
            group["nodes"] = f"worker-[{','.join(map(str, named))}]"
        elif count != 1 or draw(st.booleans()):
            group["count"] = count
        groups[name] = group
    return groups


_STORAGE = st.one_of(
    _tables({}, mount_path=st.sampled_from(("/data", "/srv/my data"))),
    _tables({"host_path": st.sampled_from(("/srv/data", "/srv/a b:c,d/é"))}, mount_path=st.just("/scratch")),
)


@st.composite
def _clusters(draw: st.DrawFn, subnet: str) -> dict[str, Any]:
    cluster: dict[str, Any] = draw(
        _tables(
            {"image": st.sampled_from(IMAGES)},
            defaults=_options(),
            storage=_STORAGE,
            prevent_destroy=st.booleans(),
            drain_timeout=st.sampled_from(DURATIONS),
            controller=_options(),
            submitter=_options(),
            subnet=st.just(subnet),
        )
    )
    # Without the key there is a group of one worker.
    return cluster | ({"workers": draw(_workers())} if draw(st.booleans()) else {})


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the tables of a valid state file: 1 or 2 realms with 1 or 2 clusters each."""
    realms: dict[str, Any] = {}
    number = 0
    for realm in draw(st.lists(st.sampled_from(REALMS), min_size=1, max_size=2, unique=True)):
        clusters = {}
        for name in draw(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=2, unique=True)):
            clusters[name] = draw(_clusters(f"10.{200 + number}.0.0/{draw(st.sampled_from((16, 24, 26)))}"))
            number += 1
        realms[realm] = {"clusters": clusters}
        if draw(st.booleans()):
            realms[realm]["mesh"] = draw(_tables({}, dns_image=st.just("dns:1"), relay_image=st.sampled_from(IMAGES)))
    return {"version": 1, "name": draw(st.sampled_from(("lab-7f3k", "other"))), "realms": realms}


def declared(document: dict[str, Any]) -> Declaration:
    """Return the declaration that a document of `documents` makes. Its host paths are absolute already."""
    structured = structure(document)
    assert not structured.faults
    return structured.declaration


def declarations() -> st.SearchStrategy[Declaration]:
    """Return valid declarations, as the reader would give them."""
    return documents().map(declared)
