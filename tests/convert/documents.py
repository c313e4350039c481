"""Generated cluster files of sind's: valid ones, in all forms."""

from typing import Any

from hypothesis import strategies as st

_PEOPLE = ("alice", "bob", "_carol", "dave-2", "eve")
_TEAMS = ("hpc", "crew", "team-1", "zz")
_ACCOUNTS = ("physics", "chem", "bio_2", "0")
_LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "MaxJobs": st.integers(0, 100),
        "grptres": st.just("cpu=4,mem=8G"),
        "Fairshare": st.integers(1, 50),
        "MaxWall": st.sampled_from(("1-00:00:00", "60")),
    },
)
_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "image": st.sampled_from(("node:1", "registry.example:5000/hpc/node@sha256:" + "0f" * 32, "")),
    "cpus": st.integers(0, 64),
    "memory": st.sampled_from(("512m", "1.5g", "2GiB", "600000000", "")),
    "tmpSize": st.sampled_from(("64m", "10%", "1G", "")),
    "capAdd": st.lists(st.sampled_from(("SYS_ADMIN", "NET_ADMIN", "SYS_NICE")), max_size=2, unique=True),
    "capDrop": st.lists(st.sampled_from(("MKNOD", "CHOWN")), max_size=2, unique=True),
    "devices": st.lists(
        st.sampled_from(("/dev/null", "/dev/zero:/dev/z", "/dev/full:/dev/f:rw")), max_size=2, unique=True
    ),
    "securityOpt": st.lists(st.sampled_from(("no-new-privileges", "seccomp=unconfined")), max_size=2, unique=True),
}
_LINE = st.text(
    st.one_of(
        st.sampled_from("'\"\\\t\r# =é\u00a0\u2028\U0001f600"), st.characters(categories=("L", "N", "P", "S", "Zs"))
    ),
    max_size=12,
)
# A comment to Slurm, so that it sets nothing.
_TEXT = st.lists(_LINE.map(lambda line: f"#{line}".replace("\r", "")), min_size=1, max_size=4).flatmap(
    lambda lines: st.sampled_from(("\n", "\r\n")).map(lambda end: end.join(lines) + end)
)
_SECTION = st.one_of(_TEXT, st.dictionaries(st.sampled_from(("a", "10-b.conf", "c_d")), _TEXT, min_size=1))


def _optional(keys: dict[str, st.SearchStrategy[Any]], **required: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=keys)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a valid document."""
    document: dict[str, Any] = draw(
        _optional(
            {
                "name": st.sampled_from(("dev", "1001", "a-b", "")),
                "realm": st.sampled_from(("sind", "ci")),
                "defaults": _optional(_OPTIONS),
                "storage": _storages(),
            },
            kind=st.just("Cluster"),
        )
    )
    managed = draw(st.booleans()) or draw(st.booleans())
    if draw(st.booleans()):
        document["nodes"] = draw(_nodes(managed))
    else:
        managed = True
    roles = {_role(node): node for node in document.get("nodes", ())}
    db = managed and "db" in roles and not (isinstance(roles["db"], dict) and roles["db"].get("managed") is False)
    document |= draw(_people(db))
    if managed:
        mode = draw(st.sampled_from(("local", "nssSlurm", "clientIds")))
        users = {"controllerUsers": draw(st.booleans())} if mode == "clientIds" else {}
        document["identity"] = draw(st.sampled_from((mode, {"mode": mode} | users)))
        sections = ("main", "cgroup", "gres", "topology", "plugstack", *(["slurmdbd"] if db else []))
        document["slurm"] = draw(_optional(dict.fromkeys(sections, _SECTION)))
    return document


def _role(node: Any) -> str:
    return node if isinstance(node, str) else node.get("role") or next(iter(node))


@st.composite
def _storages(draw: st.DrawFn) -> dict[str, Any]:
    data = draw(
        st.one_of(
            _optional({"mountPath": st.sampled_from(("/data", "/scratch", ""))}),
            _optional({"mountPath": st.just("/scratch")}, type=st.just("volume")),
            _optional({"type": st.just("hostPath")}, hostPath=st.sampled_from(("/srv/a b", ".", "../x", "~/é"))),
        )
    )
    return draw(_optional({"dataStorage": st.just(data), "cvmfs": st.booleans()}))


@st.composite
def _nodes(draw: st.DrawFn, managed: bool) -> list[Any]:
    free = {"managed": st.booleans()} if managed else {"managed": st.just(value=False)}
    controller = {**_OPTIONS, "backupController": st.booleans()}
    nodes: list[Any] = [
        draw(
            st.one_of(
                *([st.just("controller")] if managed else []),
                _optional(controller, role=st.just("controller"), managed=st.just(managed)),
            )
        )
    ]
    for role, options in (("db", {**_OPTIONS, **free}), ("api", {**_OPTIONS, **free}), ("submitter", _OPTIONS)):
        if draw(st.booleans()):
            nodes.append(draw(st.one_of(st.just(role), _optional(options, role=st.just(role)))))
    worker = st.one_of(
        st.just("worker"),
        st.integers(0, 3).map(lambda count: {"worker": count}),
        _optional({**_OPTIONS, **free, "count": st.integers(0, 3)}, role=st.just("worker")),
    )
    nodes += draw(st.lists(worker, min_size=1, max_size=12))
    return draw(st.permutations(nodes))


@st.composite
def _people(draw: st.DrawFn, db: bool) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(_PEOPLE), max_size=4, unique=True))
    teams = draw(st.lists(st.sampled_from(_TEAMS), max_size=3, unique=True))
    accounts = draw(st.lists(st.sampled_from(_ACCOUNTS), max_size=3, unique=True)) if db else []
    ids = iter(draw(st.permutations(range(1000, 1012))))
    document: dict[str, Any] = {}
    some = {
        "groups": [name if draw(st.booleans()) else {"name": name} for name in teams],
        "accounts": [draw(_accounts(name, accounts[:index])) for index, name in enumerate(accounts)],
        "users": [draw(_users(name, teams, accounts)) for name in names],
    }
    for family, key in (("users", "uid"), ("groups", "gid")):
        for entry in some[family]:
            if isinstance(entry, dict) and draw(st.booleans()):
                entry[key] = next(ids)
    document |= {family: entries for family, entries in some.items() if entries or draw(st.booleans())}
    return document


@st.composite
def _accounts(draw: st.DrawFn, name: str, before: list[str]) -> Any:
    full = _optional({"parent": st.sampled_from((*before, "root")), "limits": _LIMITS}, name=st.just(name))
    return draw(st.one_of(st.just(name), full))


@st.composite
def _users(draw: st.DrawFn, name: str, teams: list[str], accounts: list[str]) -> Any:
    if draw(st.booleans()):
        return name
    user: dict[str, Any] = {"name": name}
    more = draw(st.lists(st.sampled_from(teams), unique=True)) if teams else []
    if more and draw(st.booleans()):
        user["group"] = more.pop()
    user["groups"] = more
    own = draw(st.lists(st.sampled_from(accounts), unique=True)) if accounts else []
    if own:
        user["accounts"] = own
        user |= draw(_optional({"coordinator": st.just(own[:1]), "adminLevel": st.sampled_from(("operator", "admin"))}))
    return user
