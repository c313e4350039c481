"""Real clusters for tests: sindplan as its users run it, and the engine to look at and to damage.

The name of everything that a test makes, or that sindplan makes for it, begins with one of the test's realms; so all of it
is found afterwards, and tests may share an engine.
"""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import docker.errors
import pytest
from attrs import Factory, define, field, frozen

from sindplan.engine.docker_sdk import DockerEngine
from sindplan.engine.records import Executed
from tests.contract.stage import IMAGE, real

OLD_IMAGE = os.environ.get("SINDPLAN_TEST_IMAGE_OLD", "sindplan-node:24.11")
"""An image with another release of Slurm."""

NO_CHANGES = "No changes. Your clusters match the declaration."
_COUNTS = re.compile(r"^Plan: (\d+) to add, (\d+) to change, (\d+) to destroy\.$", re.MULTILINE)
_UNTIL_ENOUGH = "until [ -e $SLURM_JOB_ID.enough ]; do sleep 0.2; done"
_WORKS = 120.0
"""Seconds after which a command that should have ended is given up."""


@frozen
class Ran:
    """A run of sindplan that ended.

    Attributes:
        seconds: How long it took.
    """

    code: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def progress(self) -> str:
        """What was said on stderr until the summary, which tells the slowest actions once more."""
        return self.err.partition("\nSlowest:\n")[0]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many resources the plan shown would add, change and destroy."""
        found = _COUNTS.search(self.out)
        if found is None:
            assert NO_CHANGES in self.out or "Nothing to destroy." in self.out, self
            return 0, 0, 0
        return int(found[1]), int(found[2]), int(found[3])


@define
class Running:
    """sindplan in the background, stopped by what it prints."""

    process: subprocess.Popen[str]
    lines: list[str] = Factory(list)
    _queue: "queue.Queue[str | None]" = Factory(queue.Queue)
    _reader: threading.Thread | None = None

    def __attrs_post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._queue.put(line)
        self._queue.put(None)

    def until(self, text: str, seconds: float = _WORKS) -> None:
        """Wait for a line on stderr that holds `text`."""
        end = time.monotonic() + seconds
        while True:
            line = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            assert line is not None, f"sindplan ended without {text!r}:\n{''.join(self.lines)}"
            self.lines.append(line)
            if text in line:
                return

    def send(self, number: signal.Signals) -> int:
        """Send a signal and return the exit status (negative: ended by that signal)."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, seconds: float = _WORKS) -> int:
        """Wait until it ends; return the exit status."""
        code = self.process.wait(timeout=seconds)
        assert self._reader is not None
        self._reader.join(seconds)
        while (line := self._queue.get(timeout=seconds)) is not None:
            self.lines.append(line)
        assert self.process.stderr is not None
        self.process.stderr.close()
        assert "Traceback" not in self.err
        return code

    @property
    def err(self) -> str:
        """What it printed to stderr, as far as it was read."""
        return "".join(self.lines)


@define
class Lab:
    """One test: its state file, its realms, and the engine they are on."""

    engine: DockerEngine
    docker: docker.APIClient
    address: str
    folder: Path
    image: str = IMAGE
    realms: list[str] = Factory(list)
    images: list[str] = Factory(list)
    started: list[subprocess.Popen[str]] = Factory(list)
    name: str = field(factory=lambda: f"t{uuid.uuid4().hex[:7]}")

    # What is declared

    @property
    def file(self) -> Path:
        """The test's state file."""
        return self.folder / "sindplan.toml"

    def realm(self, suffix: str = "") -> str:
        """Return the name of a realm that no other test has, and take care of what will be in it."""
        name = f"{self.name}{suffix}" if suffix else f"t{uuid.uuid4().hex[:7]}"
        self.realms.append(name)
        return name

    def declare(self, *clusters: str) -> None:
        """Write the state file."""
        self.file.write_text("\n".join(["version = 1", f'name = "{self.name}"', *clusters]), encoding="utf-8")

    def cluster(
        self, realm: str, name: str = "dev", *, workers: str = "count = 1", more: str = "", image: str = ""
    ) -> str:
        """Return the tables of a cluster with a controller and the group `cpu` of workers.

        Args:
            workers: What is said of the group.
            more: What is said of the cluster itself; tables may follow it.
        """
        where = f"realms.{realm}.clusters.{name}"
        return f"""
            [{where}]
            image = "{image or self.image}"
            {more.replace("CLUSTER", where)}
            [{where}.controller]
            [{where}.workers.cpu]
            {workers}
            """

    # sindplan

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment that sindplan runs in."""
        own = {
            "DOCKER_HOST": self.address,
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DOCKER_", "SINDPLAN_"))}
        return {**kept, **own, **more}

    def sindplan(self, *arguments: str, code: int = 0, seconds: float = _WORKS, **environment: str) -> Ran:
        """Run sindplan and check its exit status, and that it never shows a traceback."""
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "sindplan", *arguments],
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - began)
        assert "Traceback" not in ran.out + ran.err, ran.err
        assert ran.code == code, f"exit status {ran.code}, not {code}\n{ran.out}\n{ran.err}"
        return ran

    def plan(self, *options: str, code: int = 0, **environment: str) -> Ran:
        """Plan with --detailed-exitcode."""
        return self.sindplan("plan", "-f", str(self.file), "--detailed-exitcode", *options, code=code, **environment)

    def apply(self, *options: str, code: int = 0, seconds: float = _WORKS, **environment: str) -> Ran:
        """Apply without a question."""
        arguments = ("apply", "-f", str(self.file), "--auto-approve", *options)
        return self.sindplan(*arguments, code=code, seconds=seconds, **environment)

    def destroy(self, *options: str, code: int = 0) -> Ran:
        """Destroy what the state file declares without a question."""
        return self.sindplan("destroy", "-f", str(self.file), "--auto-approve", *options, code=code)

    def start(self, command: str, *options: str, **environment: str) -> Running:
        """Start an apply or destroy in the background."""
        arguments = [command, "-f", str(self.file), "--auto-approve", *options]
        process = subprocess.Popen(
            [sys.executable, "-m", "sindplan", *arguments],
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return Running(process)

    def settled(self) -> None:
        """Check that nothing is left to do."""
        assert NO_CHANGES in self.plan().out

    # The engine

    def mine(self, name: str) -> bool:
        """Say whether something belongs to a realm of this test, by its name."""
        return any(name.startswith(f"{realm}-") for realm in self.realms)

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return this test's containers, stopped ones too, as listed."""
        listed = self.docker.containers(all=True)
        found = {name.removeprefix("/"): container for container in listed for name in container["Names"]}
        return {name: container for name, container in sorted(found.items()) if self.mine(name)}

    def networks(self) -> dict[str, dict[str, Any]]:
        """Return this test's networks, as listed."""
        return {found["Name"]: found for found in self.docker.networks() if self.mine(found["Name"])}

    def volumes(self) -> dict[str, dict[str, Any]]:
        """Return this test's volumes, as listed."""
        found = self.docker.volumes()["Volumes"] or []
        return {volume["Name"]: volume for volume in found if self.mine(volume["Name"])}

    def names(self) -> set[str]:
        """Return the names of everything in this test's realms."""
        return {*self.containers(), *self.networks(), *self.volumes()}

    def inspect(self, name: str) -> dict[str, Any]:
        """Return a container as Docker describes it."""
        found: dict[str, Any] = self.docker.inspect_container(name)
        return found

    def now(self) -> str:
        """Return the engine's own time, as `events` wants it."""
        whole, _, rest = self.docker.info()["SystemTime"].removesuffix("Z").partition(".")
        seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
        return f"{seconds:.0f}.{rest:0<9}"

    def events(self, since: str, *, marker: str = "") -> Iterator[dict[str, Any]]:
        """Yield what the engine says of this test's objects, for a minute as it comes, or until a volume `marker` goes.

        The engine remembers its last 256 events only, of all tests together: what is to be heard is listened to while it happens.
        """
        last = "" if marker else str(int(float(since)) + 60)
        for event in self.docker.events(since=since, until=last or None, decode=True):
            # An error comes as an answer like any other, and would look as if nothing had happened.
            assert "Actor" in event, event
            if marker and (event["Action"], event["Actor"]["ID"]) == ("destroy", marker):
                return
            named = event["Actor"]["Attributes"].get("name", "")
            if self.mine(named) or self.mine(event["Actor"]["ID"]):
                yield event

    @contextlib.contextmanager
    def hearing(self) -> Iterator[list[dict[str, Any]]]:
        """Collect what the engine says of this test's objects meanwhile; all of it is there at the end."""
        marker = f"heard-{uuid.uuid4().hex}"
        heard: list[dict[str, Any]] = []
        since = self.now()
        listener = threading.Thread(target=lambda: heard.extend(self.events(since, marker=marker)), daemon=True)
        listener.start()
        try:
            yield heard
        finally:
            self.docker.create_volume(marker)
            self.docker.remove_volume(marker)
            listener.join(_WORKS)
            assert not listener.is_alive(), "the engine has not said what happened last"

    def identity(self, *names: str) -> dict[str, tuple[str, str]]:
        """Return id and start time of containers, which tell whether they were left alone; of all unless some are named."""
        seen = {name: self.inspect(name) for name in names or self.containers()}
        return {name: (found["Id"], found["State"]["StartedAt"]) for name, found in seen.items()}

    def objects(self) -> dict[str, object]:
        """Return all there is on the engine of this test's realms, comparable."""
        found: dict[str, object] = {}
        for name in self.containers():
            seen = self.inspect(name)
            addresses = {net: there["IPAddress"] for net, there in seen["NetworkSettings"]["Networks"].items()}
            state = seen["State"]
            found[f"container {name}"] = (
                seen["Id"],
                seen["Config"]["Labels"],
                state["Status"],
                state["StartedAt"],
                addresses,
            )
        for name, network in self.networks().items():
            members = self.docker.inspect_network(network["Id"])["Containers"]
            found[f"network {name}"] = (
                network["Id"],
                network["Labels"],
                network["IPAM"]["Config"],
                sorted(member["Name"] for member in members.values()),
            )
        for name, volume in self.volumes().items():
            found[f"volume {name}"] = (volume["CreatedAt"], volume["Labels"])
        return found

    def snapshot(self) -> dict[str, object]:
        """Return the objects, and what is written in them: DNS, known hosts, Slurm's files, keys and node states."""
        found = self.objects()
        for name, container in self.containers().items():
            if container["State"] != "running":
                continue
            if name.endswith("-dns"):
                found[f"records {name}"] = sorted(self.read(name, "cat", "/Corefile").splitlines())
            elif name.endswith("-ssh"):
                found[f"known hosts {name}"] = sorted(self.read(name, "cat", "/root/.ssh/known_hosts").splitlines())
            elif name.endswith("-controller"):
                script = (
                    "find /etc/slurm /etc/munge -type f -exec stat -c '%n %a %u:%g' {} + -exec sha256sum {} + | sort"
                )
                found[f"files {name}"] = self.read(name, "sh", "-c", script).splitlines()
                found[f"slurm {name}"] = self.read(name, "sinfo", "-hN", "-o", "%N %t %E").splitlines()
        return found

    # Inside

    def execute(self, container: str, *command: str, seconds: float = 60) -> Executed:
        """Run a command in a container."""
        return self.engine.execute(container, command, seconds)

    def read(self, container: str, *command: str, seconds: float = 60) -> str:
        """Run a command in a container that must succeed; return what it prints."""
        done = self.execute(container, *command, seconds=seconds)
        assert done.code == 0, f"{command} in {container}: {done}"
        return done.out.strip()

    def wait(self, container: str, condition: str, seconds: int = 60) -> None:
        """Wait in a container until a shell condition holds."""
        script = f"until {condition}; do sleep 0.1; done"
        done = self.execute(container, "timeout", str(seconds), "sh", "-c", script, seconds=seconds + 30)
        assert done.code == 0, f"never within {seconds} seconds in {container}: {condition}"

    def states(self, realm: str, cluster: str = "dev") -> dict[str, str]:
        """Return the state of each worker as Slurm says it."""
        lines = self.read(f"{realm}-{cluster}-controller", "sinfo", "-hN", "-o", "%N %t").splitlines()
        return dict(line.split() for line in lines)

    def submit(self, realm: str, worker: str, seconds: int | None = None, cluster: str = "dev") -> str:
        """Submit a job to a worker, wait until it runs, and return its number; it ends after some seconds, or with `enough`."""
        controller = f"{realm}-{cluster}-controller"
        job = self.read(
            controller, "sbatch", "--parsable", "-w", worker, "-D", "/data", "-o", "/data/%j.out", "--wrap",
            f"{_UNTIL_ENOUGH if seconds is None else f'sleep {seconds}'}; echo done on $(hostname)",
        )  # fmt: skip
        self.wait(controller, f'[ "$(squeue -h -j {job} -o %t)" = R ]')
        return job

    def enough(self, realm: str, job: str, cluster: str = "dev") -> None:
        """Let a job end that was submitted without an end."""
        self.read(f"{realm}-{cluster}-controller", "touch", f"/data/{job}.enough")

    def job(self, realm: str, job: str, cluster: str = "dev") -> str:
        """Return a job's state."""
        text = self.read(f"{realm}-{cluster}-controller", "scontrol", "show", "job", job)
        found = re.search(r"JobState=(\w+)", text)
        assert found is not None, text
        return found[1]

    # Afterwards

    def clean(self) -> None:
        """Remove everything in the test's realms, and check that nothing is left."""
        # A test that failed may have left one running, which would go on making things.
        for process in self.started:
            process.kill()
            process.wait()
        for container in self.containers().values():
            with contextlib.suppress(docker.errors.NotFound):
                self.docker.remove_container(container["Id"], force=True)
        for network in self.networks().values():
            self.docker.remove_network(network["Id"])
        for name in self.volumes():
            until(lambda name=name: self._removed(name))
        for image in self.images:
            self.docker.remove_image(image, force=True)
        assert self.names() == set()

    def _removed(self, volume: str) -> bool:
        # Docker may call it in use for a moment after its last container went.
        try:
            self.docker.remove_volume(volume)
        except docker.errors.NotFound:
            return True
        except docker.errors.APIError:
            return False
        return True


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, "it never came to hold"
        pause.wait(0.05)


@contextlib.contextmanager
def new_lab(folder: Path) -> Iterator[Lab]:
    """Yield a lab on the engine of SINDPLAN_TEST_ENGINE; fail without one."""
    with contextlib.contextmanager(real)() as engine:
        address = os.environ["SINDPLAN_TEST_ENGINE"]
        client = docker.APIClient(base_url=address, version="auto", timeout=120)
        lab = Lab(engine, client, address, folder)
        try:
            yield lab
        finally:
            try:
                lab.clean()
            finally:
                client.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A place for one test on the real engine."""
    with new_lab(tmp_path) as lab:
        yield lab


def share_of(address: str) -> Path:
    """Return a folder that the engine sees at the same path as this machine does."""
    if folder := os.environ.get("SINDPLAN_TEST_SHARE"):
        return Path(folder)
    # A private engine of tools/engine shows its folder `share`; one of the machine itself shows everything.
    socket = Path(urlsplit(address).path)
    private = socket.parent.parent / "share"
    return private if private.is_dir() else Path("/var/tmp")


def said(found: Mapping[str, str]) -> dict[str, str]:
    """Return labels without those of sindplan itself and of the image."""
    return {key: value for key, value in found.items() if not key.startswith("sindplan.")}
