"""What only a real engine can show: commands that hang, die or print much, odd files, and connections."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sindplan.engine.docker_sdk import DockerEngine, connect
from sindplan.engine.records import Entry
from sindplan.errors import EngineRefused, EngineTimeout, EngineUnreachable
from tests.contract.stage import Stage

pytestmark = pytest.mark.engine


@pytest.fixture
def stage(real_engine: DockerEngine) -> Iterator[Stage]:
    """A place on the real engine, cleaned afterwards."""
    stage = Stage(real_engine)
    yield stage
    stage.clean()


def descriptors() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def processes(stage: Stage, container: str) -> str:
    """Return the command lines that run in a container."""
    return stage.engine.execute(container, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).out


class TestCommands:
    """Commands that do not behave."""

    def test_silent_one_is_ended_in_time(self, stage: Stage) -> None:
        """A command that hangs in silence is a time-out, and does not live on."""
        container = stage.running()
        started = time.monotonic()

        with pytest.raises(EngineTimeout, match="did not end within 1 seconds"):
            stage.engine.execute(container, ["sleep", "33"], timeout=1)
        assert time.monotonic() - started < 3
        assert "sleep 33" not in processes(stage, container)

    def test_talking_one_is_ended_in_time(self, stage: Stage) -> None:
        """Output does not extend a command's time."""
        container = stage.running()
        started = time.monotonic()

        with pytest.raises(EngineTimeout):
            stage.engine.execute(container, ["sh", "-c", "while :; do echo x; sleep 0.1; done"], timeout=1)
        assert time.monotonic() - started < 3

    def test_stubborn_one_is_killed(self, stage: Stage) -> None:
        """SIGKILL follows for one that ignores SIGTERM."""
        container = stage.running()
        started = time.monotonic()

        with pytest.raises(EngineTimeout):
            stage.engine.execute(container, ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], timeout=0.5)
        assert time.monotonic() - started < 9
        assert "trap" not in processes(stage, container)

    def test_without_coreutils(self, stage: Stage) -> None:
        """Without `timeout` in the container commands run all the same, and are left to run when they hang."""
        container = stage.running()
        stage.engine.execute(container, ["rm", "/usr/bin/timeout"])

        assert stage.engine.execute(container, ["echo", "x"]).out == "x\n"
        missing = stage.engine.execute(container, ["no-such-program"])
        assert missing.code == 127
        assert "no-such-program" in missing.out
        started = time.monotonic()
        with pytest.raises(EngineTimeout):
            stage.engine.execute(container, ["sleep", "33"], timeout=1)
        with pytest.raises(EngineTimeout):
            stage.engine.execute(container, ["sh", "-c", "while :; do echo x; sleep 0.1; done"], timeout=1)
        assert time.monotonic() - started < 4

    def test_killed_one(self, stage: Stage) -> None:
        """A command that is killed has code 137."""
        assert stage.engine.execute(stage.running(), ["sh", "-c", "kill -9 $$"]).code == 137

    def test_own_124_is_no_time_out(self, stage: Stage) -> None:
        """A code that `timeout` uses may be the command's own."""
        assert stage.engine.execute(stage.running(), ["sh", "-c", "exit 124"]).code == 124

    @pytest.mark.parametrize(("program", "code"), [("/etc/passwd", 126), ("/etc", 126), ("/no/such", 127)])
    def test_not_a_program(self, stage: Stage, program: str, code: int) -> None:
        """What cannot be run has the shell's codes."""
        assert stage.engine.execute(stage.running(), [program]).code == code

    def test_much_to_stderr_first(self, stage: Stage) -> None:
        """Nothing is lost of a mebibyte, and the streams are not mixed."""
        result = stage.engine.execute(
            stage.running(), ["sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' e >&2; echo x"]
        )

        assert (result.code, result.out, len(result.err)) == (0, "x\n", 1024 * 1024)
        assert set(result.err) == {"e"}

    def test_first_output_is_never_lost(self, stage: Stage) -> None:
        """Output that comes with the answer's head counts: where the SDK's own exec may lose it."""
        container = stage.running()

        assert {stage.engine.execute(container, ["echo", "x"]).out for _ in range(25)} == {"x\n"}

    def test_too_much_is_refused(self, stage: Stage) -> None:
        """More than can be held is refused, after the command has ended."""
        with pytest.raises(EngineRefused, match="printed more than"):
            stage.engine.execute(stage.running(), ["head", "-c", "9000000", "/dev/zero"])

    def test_code_after_closed_output(self, stage: Stage) -> None:
        """The code is waited for when a command closes its output early."""
        command = ["sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 4"]

        assert stage.engine.execute(stage.running(), command).code == 4

    def test_user(self, stage: Stage) -> None:
        """A command runs as the user it is told; one that does not exist is refused."""
        container = stage.running()

        assert stage.engine.execute(container, ["id", "-un"], user="nobody").out == "nobody\n"
        with pytest.raises(EngineRefused, match="unable to find user"):
            stage.engine.execute(container, ["id"], user="no-such-user")

    def test_container_ends_meanwhile(self, stage: Stage) -> None:
        """A command whose container is killed ends with it, not by its time limit."""
        container = stage.running()
        killer = threading.Timer(1, stage.engine.kill, (container,))
        killer.start()
        started = time.monotonic()

        assert stage.engine.execute(container, ["sleep", "30"], timeout=40).code == 137
        assert time.monotonic() - started < 15
        killer.join()


class TestOutput:
    """Following output."""

    def test_is_of_the_last_start(self, stage: Stage) -> None:
        """A marker that an earlier start printed is not taken for this one's."""
        script = "if [ -e /again ]; then sleep infinity; fi; touch /again; echo ready"
        container = stage.running(entrypoint=("sh", "-c", script))
        assert stage.engine.wait_output(container, "ready", 20)
        stage.engine.wait_exit(container, 20)
        stage.engine.start(container)

        with pytest.raises(EngineTimeout):
            stage.engine.wait_output(container, "ready", 1)

    def test_comes_later(self, stage: Stage) -> None:
        """A line is seen when it is printed, split or not, on either stream."""
        container = stage.running(entrypoint=("sh", "-c", "printf rea >&2; sleep 1; echo dy >&2; sleep infinity"))
        started = time.monotonic()

        assert stage.engine.wait_output(container, "ready", 20)
        assert time.monotonic() - started < 5

    def test_chatter_does_not_extend_the_time(self, stage: Stage) -> None:
        """The limit is of the whole wait, not of silence."""
        container = stage.running(entrypoint=("sh", "-c", "while :; do echo x; sleep 0.1; done"))
        started = time.monotonic()

        with pytest.raises(EngineTimeout, match="did not print 'ready'"):
            stage.engine.wait_output(container, "ready", 1)
        assert time.monotonic() - started < 3

    def test_ends_with_the_container(self, stage: Stage) -> None:
        """A container that exits while its output is followed ends the wait."""
        container = stage.running(entrypoint=("sh", "-c", "sleep 1; echo bye"))

        assert not stage.engine.wait_output(container, "ready", 30)


class TestFiles:
    """Files that only Linux can make."""

    def test_devices_pipes_and_hard_links(self, stage: Stage) -> None:
        """Devices and pipes are left out, a hard link is a file."""
        container = stage.running()
        script = "mkdir /d; cd /d; echo x > a; ln a b; mkfifo pipe; mknod dev c 1 3; ln -s /dev/null link; "
        script += "printf y > \"$(printf 'n\\nl')\""
        assert stage.engine.execute(container, ["sh", "-c", script]).code == 0
        found = stage.engine.get_files(container, "/d")

        assert {path: entry.kind for path, entry in found.items()} == {
            "/d": "dir",
            "/d/a": "file",
            "/d/b": "file",
            "/d/link": "link",
            "/d/n\nl": "file",
        }
        assert found["/d/b"].content == b"x\n"

    def test_names_that_are_no_utf_8(self, stage: Stage) -> None:
        """Any name goes out and in again."""
        container = stage.running()
        assert stage.engine.execute(container, ["sh", "-c", "mkdir /d; echo x > \"$(printf '/d/\\377')\""]).code == 0
        found = stage.engine.get_files(container, "/d")
        stage.engine.put_files(
            container,
            [
                Entry(path=path.replace("/d", "/e", 1), kind=entry.kind, content=entry.content)
                for path, entry in found.items()
            ],
        )

        names = stage.engine.execute(container, ["sh", "-c", "ls /d | od -c; ls /e | od -c"]).out.splitlines()
        assert names[: len(names) // 2] == names[len(names) // 2 :]

    def test_sparse_bomb(self, stage: Stage) -> None:
        """A file that claims to be large is refused."""
        container = stage.running()
        stage.engine.execute(container, ["truncate", "-s", "1G", "/bomb"])

        with pytest.raises(EngineRefused, match="larger than"):
            stage.engine.get_files(container, "/bomb")


class TestConnections:
    """File descriptors and threads."""

    @pytest.mark.usefixtures("real_engine")
    def test_are_few_and_come_back(self) -> None:
        """Many threads, one after the other, share the connections of as many as work at once."""
        before = descriptors()
        engine = connect(os.environ["SINDPLAN_TEST_ENGINE"])
        for _ in range(3):
            threads = [threading.Thread(target=lambda: [engine.containers() for _ in range(5)]) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        during = descriptors()
        engine.close()

        assert during - before <= 16
        assert descriptors() == before
        with pytest.raises(EngineUnreachable):
            engine.containers()
