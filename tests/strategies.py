"""Generated declarations: small ones of all the shapes that this version builds, as TOML's tables and as classes."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from sindplan.model.declaration import Declaration
from sindplan.model.names import ACCOUNTING_CLUSTER_NAME_MAX
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


POWER = st.sampled_from(("on", "on", "on", "off"))
ON_TIMEOUTS = st.sampled_from(("fail", "requeue", "cancel"))

_SELDOM = st.sampled_from((False, False, False, True))

_PRIVILEGES: dict[str, st.SearchStrategy[Any]] = {
    "cap_add": st.sampled_from(([], ["SYS_NICE"], ["NET_ADMIN", "SYS_PTRACE"], ["ALL"])),
    "cap_drop": st.sampled_from(([], ["MKNOD"])),
    "devices": st.sampled_from(([], ["/dev/fuse"], ["/dev/null:/dev/one", "/dev/zero:/dev/two:rw"])),
    "security_opt": st.sampled_from(([], ["no-new-privileges"], ["seccomp=unconfined", "apparmor=unconfined"])),
}


@st.composite
def _options(draw: st.DrawFn, **more: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw a table with what can be said of every node, and more; privileges now and then."""
    privileges = draw(st.sampled_from((*[{}] * 5, _PRIVILEGES)))
    return draw(
        _tables(
            {},
            image=st.sampled_from(IMAGES),
            cpus=st.integers(1, 3),
            memory=st.sampled_from(MEMORY),
            tmp_size=st.sampled_from(TMP_SIZES),
            **privileges,
            **more,
        )
    )


def _managed(*, managed: bool) -> st.SearchStrategy[bool]:
    """Return what a node's `managed` can be in a cluster: only managed clusters have nodes that are."""
    return st.booleans() if managed else st.just(False)


GPUS = ["/dev/null:/dev/fakegpu0", "/dev/zero:/dev/fakegpu1:rw"]

_OF_SLURM: dict[str, st.SearchStrategy[Any]] = {
    "features": st.sampled_from(([], ["gpu"], ["ib", "rack=1"])),
    "gres": st.sampled_from(("gpu:2", "gpu:a100:2,fpga:1", "disk:10G")),
    "weight": st.sampled_from((0, 5, 2**32 - 1)),
}
OWN_PARTITIONS = ("", "MaxTime=1:00:00  OverSubscribe=NO")


@st.composite
def _workers(draw: st.DrawFn, *, managed: bool) -> dict[str, Any]:
    """Draw 0 to 3 groups of together 0 to 4 workers, each group counted or named."""
    groups: dict[str, Any] = {}
    left = 4
    indexes = draw(st.permutations(range(12)))
    for name in draw(st.lists(st.sampled_from(GROUPS), max_size=3, unique=True)):
        count = draw(st.integers(0, left))
        left -= count
        group = draw(_options(drain_timeout=st.sampled_from(DURATIONS), on_timeout=ON_TIMEOUTS, power=POWER))
        if count and draw(st.booleans()):
            named, indexes = sorted(indexes[:count]), indexes[count:]
            group["nodes"] = f"worker-[{','.join(map(str, named))}]"
        elif count != 1 or draw(st.booleans()):
            group["count"] = count
        if draw(_SELDOM):
            group["managed"] = draw(_managed(managed=managed))
        if managed and group.get("managed", True):
            group |= draw(_tables({}, **draw(st.sampled_from(({}, _OF_SLURM)))))
            if "gpu" in group.get("gres", ""):
                group["devices"] = GPUS
            if name != "default" and draw(_SELDOM):
                group["partition"] = draw(st.sampled_from(OWN_PARTITIONS))
        groups[name] = group
    return groups


_STORAGE = st.one_of(
    _tables({}, mount_path=st.sampled_from(("/data", "/srv/my data")), cvmfs=st.booleans()),
    _tables({"host_path": st.sampled_from(("/srv/data", "/srv/a b:c,d/é"))}, mount_path=st.just("/scratch")),
)

_PASSWORDS = st.sampled_from(("pl4in!", {"env": "SINDPLAN_SECRET_DB"}, {"file": "lab/db password"}))


@st.composite
def _partitions(draw: st.DrawFn, workers: dict[str, Any]) -> dict[str, Any]:
    """Draw 0 to 2 partitions over managed groups, at most one of them the default."""
    groups = sorted(name for name, group in workers.items() if group.get("managed", True))
    members = st.lists(st.sampled_from(groups), unique=True) if groups else st.just([])
    partitions = {}
    for name in draw(st.lists(st.sampled_from(("batch", "long", "gpu")), max_size=2, unique=True)):
        if "partition" not in workers.get(name, {}):
            partitions[name] = draw(
                _tables(
                    {"workers": members},
                    max_time=st.sampled_from(("60", "1-12", "2:30:00", "INFINITE")),
                    state=st.sampled_from(("up", "down", "drain", "inactive")),
                    options=st.sampled_from(({}, {"OverSubscribe": "NO", "TRESBillingWeights": "CPU=1.0,Mem=0.25G"})),
                )
            )
    if partitions and draw(st.booleans()):
        partitions[draw(st.sampled_from(sorted(partitions)))]["default"] = True
    return partitions


USERS = ("alice", "bob", "svc-build_1")
ACCOUNTS = ("physics", "chemistry", "0x")


@st.composite
def _people(draw: st.DrawFn, *, accounting: bool) -> dict[str, Any]:
    """Draw users, groups and, with a database, accounts; ids are said or left open."""
    groups = {
        name: draw(_tables({}, gid=st.just(2000 + index)))
        for index, name in enumerate(("hpc", "admins"))
        if draw(st.booleans())
    }
    accounts: dict[str, Any] = {}
    for name in ACCOUNTS if accounting else ():
        limits = st.sampled_from(({}, {"MaxJobs": 5, "grptres": "cpu=4"}, {"Fairshare": -1, "Description": "a b"}))
        accounts[name] = draw(_tables({}, parent=st.sampled_from(("root", *accounts)), limits=limits))
    users = {}
    for index, name in enumerate(USERS):
        if draw(st.booleans()):
            user: dict[str, Any] = {}
            if groups and draw(st.booleans()):
                primary, *others = draw(st.permutations(sorted(groups)))
                user |= {"group": primary} | ({"groups": others} if draw(st.booleans()) else {})
            # A user without a private group may have the number of somebody's group.
            user |= draw(_tables({}, uid=st.sampled_from((60001 + index, *([2000 + index] if user else [])))))
            if accounts and draw(st.booleans()):
                some = st.lists(st.sampled_from(sorted(accounts)), min_size=1, unique=True)
                more = _tables({"accounts": some}, coordinator=some, admin_level=st.sampled_from(("operator", "admin")))
                user |= draw(more)
            users[name] = user
    return {key: table for key, table in (("groups", groups), ("users", users), ("accounts", accounts)) if table}


@st.composite
def _slurm(draw: st.DrawFn, *, accounting: bool) -> dict[str, Any]:
    """Draw harmless text for Slurm's files, as one text or in fragments."""
    database: dict[str, st.SearchStrategy[Any]] = {"slurmdbd": st.just("PurgeEventAfter=1month\n")}
    return draw(
        _tables(
            {},
            main=st.sampled_from(
                ("SchedulerParameters=bf_continue\n", {"10-sched": "# nothing\n", "20-prio": "PriorityWeightAge=5\n"})
            ),
            cgroup=st.sampled_from(("ConstrainCores=yes\n", {"swap": "ConstrainSwapSpace=no\n"})),
            gres=st.just("# by hand\n"),
            topology=st.just("# flat\n"),
            plugstack=st.just({"none": "# nothing\n"}),
            **(database if accounting else {}),
        )
    )


@st.composite
def _services(draw: st.DrawFn, *, managed: bool, can_account: bool) -> dict[str, Any]:
    """Draw the nodes of database and REST API, if any."""
    services: dict[str, Any] = {}
    for role, can_be in (("db", can_account), ("api", managed)):
        if draw(_SELDOM):
            services[role] = draw(_options())
            if not can_be or draw(st.booleans()):
                services[role]["managed"] = draw(_managed(managed=can_be))
    if services.get("db", {"managed": False}).get("managed", True) and draw(st.booleans()):
        services["db"]["storage_password"] = draw(_PASSWORDS)
    return services


@st.composite
def _clusters(draw: st.DrawFn, name: str, subnet: str) -> dict[str, Any]:
    managed = not draw(_SELDOM)
    can_account = managed and len(name) <= ACCOUNTING_CLUSTER_NAME_MAX
    cluster: dict[str, Any] = draw(
        _tables(
            {"image": st.sampled_from(IMAGES)},
            defaults=_options(),
            storage=_STORAGE,
            prevent_destroy=st.booleans(),
            drain_timeout=st.sampled_from(DURATIONS),
            on_timeout=ON_TIMEOUTS,
            power=POWER,
            powered_off=st.sampled_from(("worker-0", "worker-[1-3]")),
            controller=_options(backup=st.booleans()),
            submitter=_options(),
            subnet=st.just(subnet),
        )
    )
    cluster |= draw(_services(managed=managed, can_account=can_account))
    if not managed:
        where = draw(st.sampled_from(("cluster", "controller")))
        (cluster if where == "cluster" else cluster.setdefault("controller", {}))["managed"] = False
    accounting = can_account and cluster.get("db", {"managed": False}).get("managed", True)
    # Without the key there is a group of one worker.
    workers = draw(_workers(managed=managed)) if draw(st.booleans()) else None
    cluster |= {} if workers is None else {"workers": workers}
    if any(group.get("devices") is GPUS for group in (workers or {}).values()):
        # There are as many GPUs as devices, and these would be more.
        cluster.get("defaults", {}).pop("devices", None)
    if draw(st.booleans() if accounting else _SELDOM):
        cluster |= draw(_people(accounting=accounting))
    if managed and draw(_SELDOM):
        cluster["partitions"] = draw(_partitions({"default": {}} if workers is None else workers))
    if managed and draw(_SELDOM):
        cluster["slurm"] = draw(_slurm(accounting=accounting))
    if managed and draw(_SELDOM):
        cluster["identity"] = draw(st.sampled_from(("local", "nss_slurm", "client_ids")))
        if cluster["identity"] == "client_ids":
            cluster["controller_users"] = draw(st.booleans())
    return cluster


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the tables of a valid state file: 1 or 2 realms with 1 or 2 clusters each."""
    realms: dict[str, Any] = {}
    number = 0
    for realm in draw(st.lists(st.sampled_from(REALMS), min_size=1, max_size=2, unique=True)):
        clusters = {}
        for name in draw(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=2, unique=True)):
            clusters[name] = draw(_clusters(name, f"10.{200 + number}.0.0/{draw(st.sampled_from((16, 24, 26)))}"))
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
