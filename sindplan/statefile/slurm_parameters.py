"""Parameters that the user's text must not set, or not to other than the cluster needs: tables, each with its reason."""

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from sindplan.model.declaration import Identity
from sindplan.slurm.generated import CONFIG, JWT_KEY, STATE
from sindplan.slurm.text import listed_in
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.slurm_sections import Said, in_force, said, texts
from sindplan.statefile.wording import quoted

_CONTROLLERS = "sindplan says which the controllers are, with their addresses"
_DATABASE = "sindplan sets the database up and says where it is"
TAKEN: Mapping[str, Mapping[str, str]] = {
    "main": {
        "ClusterName": "the cluster has its name from the state file, and its state and accounting know it by that",
        "SlurmctldHost": _CONTROLLERS,
        "ControlMachine": _CONTROLLERS,
        "ControlAddr": _CONTROLLERS,
        "BackupController": _CONTROLLERS,
        "BackupAddr": _CONTROLLERS,
        "SlurmUser": "keys and state belong to slurm",
        "SlurmdUser": "slurmd runs as root",
        "StateSaveLocation": f"the controllers have their volume at {STATE}",
    },
    "slurmdbd": {
        "DbdHost": "slurmdbd runs on the node `db`",
        "SlurmUser": "the file and the keys belong to slurm",
        "StorageType": _DATABASE,
        "StorageHost": _DATABASE,
        "StorageLoc": _DATABASE,
        "StorageUser": _DATABASE,
    },
}
"""What sindplan alone sets, and why: Slurm would take the user's, which comes later."""


@frozen
class _Demand:
    """What a parameter must say, in whole or among others, where it is said at all."""

    section: str
    key: str
    value: str
    is_list: bool = False

    def fits(self, found: str) -> bool:
        """Say whether a value is right. Slurm knows plugins with and without their kind."""
        short = self.value.rpartition("/")[2]
        return bool({self.value, short} & listed_in(found)) if self.is_list else found.lower() in {self.value, short}


_MUNGE = (
    _Demand("main", "AuthType", "auth/munge"),
    _Demand("main", "CredType", "cred/munge"),
    _Demand("slurmdbd", "AuthType", "auth/munge"),
)
_NSS = _Demand("main", "LaunchParameters", "enable_nss_slurm", is_list=True)
IDENTITIES: Mapping[Identity, tuple[_Demand, ...]] = {
    "local": _MUNGE,
    "nss_slurm": (*_MUNGE, _NSS),
    "client_ids": (
        _Demand("main", "AuthType", "auth/slurm"),
        _Demand("main", "CredType", "cred/slurm"),
        _Demand("main", "AuthInfo", "use_client_ids", is_list=True),
        _NSS,
        _Demand("slurmdbd", "AuthType", "auth/slurm"),
        _Demand("slurmdbd", "AuthInfo", "use_client_ids", is_list=True),
    ),
}
"""What follows from who knows the users (sind.md 6.6, 6.7)."""
_TOKENS = (
    _Demand("main", "AuthAltTypes", "auth/jwt", is_list=True),
    _Demand("slurmdbd", "AuthAltTypes", "auth/jwt", is_list=True),
)


def _what_sindplan_sets_is_left_to_it(context: Context) -> Iterator[Fault]:
    for section, taken in TAKEN.items():
        names = {key.lower(): key for key in taken}
        for found in said(context, section, *taken):
            key = names[found.statement.key]
            yield found.fault(context, f"sets {key}: {taken[key]}.", "Remove the line.")


def _authentication_is_that_of_the_identity(context: Context) -> Iterator[Fault]:
    identity = context.cluster.identity
    if context.lacks("identity"):
        return
    for demand in IDENTITIES[identity]:
        advice = f"Remove the line; with `identity = {quoted(identity)}` sindplan writes what is needed."
        if identity == "local" and demand.key != "LaunchParameters":
            advice = 'Remove the line, or write `identity = "client_ids"` for auth/slurm.'
        yield from _unless_fit(context, demand, f"`identity = {quoted(identity)}`", advice)


def _tokens_are_known_where_there_is_an_api(context: Context) -> Iterator[Fault]:
    api = context.cluster.api
    if api is None or api.managed is False or not context.is_managed:
        return
    for demand in _TOKENS:
        yield from _unless_fit(context, demand, "the node `api`", "Add it, or remove the line: sindplan writes it.")
        found = in_force(context, demand.section, "AuthAltParameters")
        if found is not None and not any(part.startswith(("jwt_key=", "jwks=")) for part in _parts(found)):
            what = "sets AuthAltParameters without the key of tokens, which the node `api` needs."
            yield found.fault(context, what, f"Add jwt_key={JWT_KEY}.")


def _parts(found: Said) -> frozenset[str]:
    return listed_in(found.statement.value)


def _unless_fit(context: Context, demand: _Demand, who: str, advice: str) -> Iterator[Fault]:
    found = in_force(context, demand.section, demand.key)
    if found is not None and not demand.fits(found.statement.value):
        verb = "lists" if demand.is_list else "is"
        yield found.fault(context, f"sets {demand.key}, which with {who} {verb} {demand.value}.", advice)


def _slurmdbd_is_there(context: Context) -> Iterator[Fault]:
    if context.is_managed and not context.has_managed_db and context.cluster.slurm.slurmdbd is not None:
        if context.lacks("db"):
            return
        what = "There is no managed db node, so there is no slurmdbd to read this."
        yield context.fault(("slurm", "slurmdbd"), what, "Remove it, or add a table `db`.")


def _the_password_is_said_once(context: Context) -> Iterator[Fault]:
    db = context.cluster.db
    for found in said(context, "slurmdbd", "StoragePass"):
        if db is not None and db.storage_password is not None:
            what = "sets StoragePass, and `db.storage_password` does, too."
            yield found.fault(context, what, "Remove the line: a text cannot keep a secret.")


def _plugstack_is_where_slurm_looks(context: Context) -> Iterator[Fault]:
    found = in_force(context, "main", "PlugStackConfig")
    if found is not None and any(texts(context, "plugstack")):
        if found.statement.value == f"{CONFIG}/plugstack.conf":
            return
        what = "sets PlugStackConfig: nobody reads `slurm.plugstack` then."
        yield found.fault(context, what, "Remove one of them.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _what_sindplan_sets_is_left_to_it,
    _authentication_is_that_of_the_identity,
    _tokens_are_known_where_there_is_an_api,
    _slurmdbd_is_there,
    _the_password_is_said_once,
    _plugstack_is_where_slurm_looks,
)
