"""Trying a configuration before anybody reads it: a throwaway slurmctld of the same image, on a network of its own with nobody on it.

Neither slurmctld nor slurmd can check its files without starting. This one starts with an empty state, a random key instead
of the cluster's and without its database, and is ended as soon as it says that it runs, or why it does not.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import ContainerSpec, Endpoint, Entry, NetworkSpec
from sindplan.errors import EngineError, EngineTimeout, NodeFailed, NotFound, SindplanError
from sindplan.slurm.effective import MAIN, hosts, in_force, keys_of_tokens, said
from sindplan.slurm.generated import CONFIG, STATE

SECONDS = 20.0
"""A healthy one takes tenths. One that says nothing in that time waits for something that only its own network has."""
LABEL = "sindplan.trial"
"""On the container and network of a trial: the cluster it is for."""
REFUSED, _SEEN = 3, 7
ACCEPTED = "Running as primary controller"
_SLURM_KEY = f"{CONFIG}/slurm.key"
_NOBODY = "192.0.2.1"
"""An address of nobody's (RFC 5737): slurmctld must find all its nodes' names, and waits ten seconds for each that it does not."""
_WORDS = 8
"""Lines of Slurm's own that are shown."""

# An included file that is missing is waited for, a minute long. What ends the loop ends everything but the shell.
SCRIPT = f"""\
mkdir -p {STATE} /run/slurmctld /var/log/slurm
chown slurm: {STATE} /run/slurmctld
for key; do
    mkdir -p "${{key%/*}}"
    head -c 64 /dev/urandom > "$key"
    chmod 600 "$key"
    chown slurm: "$key"
done
slurmctld -D -v -c -f {CONFIG}/{MAIN} 2>&1 | while read -r line; do
    printf '%s\\n' "$line"
    case $line in
    *'{ACCEPTED}'*) kill -9 -1; exit {_SEEN} ;;
    *'cannot stat file'*) kill -9 -1; exit {REFUSED} ;;
    esac
done
[ $? -eq {_SEEN} ] || exit {REFUSED}
"""

# A trusted stranger is all that authentication needs here, and a slurmctld that waits for its database says nothing else.
_INSTEAD: Mapping[str, tuple[frozenset[str], str]] = {
    "AuthType": (frozenset({"", "auth/munge", "munge", "auth/slurm", "slurm"}), "auth/slurm"),
    "CredType": (frozenset({"", "cred/munge", "munge", "cred/slurm", "slurm"}), "cred/slurm"),
    "AccountingStorageType": (frozenset({"accounting_storage/slurmdbd", "slurmdbd"}), "accounting_storage/none"),
}
"""Parameters that the copy sets otherwise: the values that it may hide, and what it says instead."""
_HARMLESS = re.compile(
    "MailProg|pidfile|specified more than once|No memory enforcing|Could not open .* state file|Jobs may be|High latency for"
)
"""What slurmctld calls an error and starts with all the same. The last is of a machine that is busy."""
_PREFIX = re.compile(r"^(?:\[[^\]]*\] |slurmctld: )+")


@frozen(kw_only=True)
class Trial:
    """What is tried.

    Attributes:
        name: Of the container and the network; what an earlier trial left under it is removed.
        about: The cluster, as people know it.
        image: The controller's image, by id.
        hostname: The controller's, which slurmctld looks for among its SlurmctldHosts.
        labels: To be put on both.
        files: Everything below /etc/slurm but secrets, by absolute path.
    """

    name: str
    about: str
    image: str
    hostname: str
    labels: Mapping[str, str]
    files: Sequence[Entry]

    @property
    def texts(self) -> Mapping[str, str]:
        """The files' texts by path below /etc/slurm."""
        prefix = f"{CONFIG}/"
        return {
            entry.path.removeprefix(prefix): entry.content.decode("utf-8", "replace")
            for entry in self.files
            if entry.kind == "file"
        }


def run_trial(engine: Engine, trial: Trial) -> None:
    """Try it. Raises NodeFailed with Slurm's own words when slurmctld would not start.

    One that neither starts nor gives up in time is given the benefit of the doubt: what it waits for may be there in its cluster, and
    what is refused after all is put back.
    """
    sweep_trial(engine, trial.name)
    marks = {**trial.labels, LABEL: trial.about}
    try:
        engine.create_network(NetworkSpec(name=trial.name, labels=marks, internal=True))
        keys = sorted({_SLURM_KEY, *keys_of_tokens(trial.texts)} - {entry.path for entry in trial.files})
        container = engine.create_container(
            ContainerSpec(
                name=trial.name,
                image=trial.image,
                labels=marks,
                hostname=trial.hostname,
                endpoints=(Endpoint(network=trial.name),),
                extra_hosts=tuple(f"{name}:{_NOBODY}" for name in sorted(hosts(trial.texts) - {trial.hostname})),
                entrypoint=("/bin/sh", "-c", SCRIPT),
                command=("sindplan", *keys),
            )
        )
        engine.put_files(container, [*map(_copied, trial.files)])
        engine.start(container)
        try:
            code = engine.wait_exit(container, SECONDS)
        except EngineTimeout:
            return
        if code != 0:
            raise _refusal(trial, engine.logs(container, 200).splitlines())
    finally:
        sweep_trial(engine, trial.name)


def sweep_trial(engine: Engine, name: str) -> None:
    """Remove what a trial made, and only that."""
    try:
        container = engine.inspect_container(name)
        if container is not None and LABEL in container.labels:
            _twice(partial(engine.remove_container, container.id))
    finally:
        network = engine.inspect_network(name)
        if network is not None and LABEL in network.labels:
            _twice(partial(engine.remove_network, network.id))


def _twice(remove: Callable[[], None]) -> None:
    """Remove something, and once more when that fails: nothing may stay behind an apply that ends here."""
    with contextlib.suppress(NotFound):
        try:
            remove()
        except NotFound:
            raise
        except EngineError:
            with contextlib.suppress(NotFound):
                remove()
            raise


def _copied(entry: Entry) -> Entry:
    """Return a file as the throwaway slurmctld reads it; what stands on which line stays.

    It can be read by all: what a hand closed is mended with the same plan, and Slurm's helper runs as another user.
    """
    entry = evolve(entry, mode=entry.mode | (0o055 if entry.kind == "dir" else 0o044))
    if entry.path != f"{CONFIG}/{MAIN}":
        return entry
    text = entry.content.decode("utf-8", "surrogateescape")
    return evolve(entry, content=f"{text}\n{instead(text)}".encode("utf-8", "surrogateescape"))


def instead(text: str) -> str:
    """Return the lines that come after a slurm.conf in a trial: of several values Slurm takes the last."""
    found = in_force({MAIN: text})
    return "".join(
        f"{key}={value}\n" for key, (hidden, value) in _INSTEAD.items() if found.get(key, "").lower() in hidden
    )


def _refusal(trial: Trial, lines: Iterable[str]) -> SindplanError:
    words = [_PREFIX.sub("", line).strip() for line in lines]
    told = [line for line in words if line.startswith(("error:", "fatal:")) and not _HARMLESS.search(line)]
    first = next((line.partition(":")[2].strip() for line in told), "it says nothing")
    place = _place(trial.texts, told)
    return NodeFailed(
        f"slurmctld refuses the new configuration of {trial.about}: {first}{f' ({place})' if place else ''}.",
        "\n".join(told[-_WORDS:] or words[-_WORDS:]),
        "It was tried aside; nothing was changed. Mend the text and apply again.",
    )


def _place(texts: Mapping[str, str], told: Iterable[str]) -> str:
    """Return where a key stands that Slurm does not know: it says so only of files that are included."""
    for line in told:
        match = re.search(r"unrecognized key: (\S+)", line)
        for placed in said(texts) if match else ():
            keys = {placed.statement.key, *(one.key.lower() for one in placed.statement.parameters)}
            if match and match[1].lower() in keys:
                return f"line {placed.statement.line} of {placed.path}"
    return ""
