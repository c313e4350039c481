"""Running commands in containers and following their output.

A command runs under coreutils' `timeout` inside the container, for Docker has no call that ends an exec: leaving it only
leaves it running. An image without coreutils is found out by the answer and its commands are left.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from attrs import define, field

from sindplan.engine import inspection
from sindplan.engine.calls import Call, Options, path_of
from sindplan.engine.patience import patiently
from sindplan.engine.records import Executed
from sindplan.engine.streams import MULTIPLEXED, STDERR, STDOUT, Frames, Lines
from sindplan.errors import EngineRefused, EngineTimeout

if TYPE_CHECKING:
    from sindplan.engine.answers import Answer
    from sindplan.engine.transport import Transport

# Bytes of output of one command, and of logs.
OUTPUT_LIMIT = 8 * 1024 * 1024
# Seconds that a command gets to end after SIGTERM, and that its answer may take on top.
KILL_AFTER, MARGIN = 5, 5.0
# What `timeout` returns when it ended the command, by SIGTERM and by SIGKILL.
_ENDED = (124, 137)
# What a shell, `timeout` and Docker return for a program that is not there.
_MISSING = 127


@define
class Processes:
    """Commands and output of one engine's containers."""

    _transport: "Transport"
    # Containers without coreutils, by the id or name they were asked for with.
    _bare: set[str] = field(factory=set, init=False)

    def execute(self, container: str, command: Sequence[str], timeout: float, user: str) -> Executed:
        """Run a command and wait for its end.

        Raises:
            EngineTimeout: It did not end in time. It was ended if the container has coreutils.
        """
        if not command:
            raise EngineRefused("execute", container, 400, "No exec command specified")
        if container not in self._bare:
            limited = ["timeout", "-k", str(KILL_AFTER), f"{timeout:.3f}".rstrip("0").rstrip("."), *command]
            started = time.monotonic()
            result = self._run(container, limited, timeout + KILL_AFTER + MARGIN, user)
            if result.code in _ENDED and time.monotonic() - started >= timeout:
                raise EngineTimeout(f"{command[0]!r} in {container!r} did not end within {timeout:g} seconds.")
            if not (result.code == _MISSING and 'exec: "timeout"' in result.out):
                return result
            self._bare.add(container)
        return self._run(container, command, timeout, user)

    def _run(self, container: str, command: Sequence[str], seconds: float, user: str) -> Executed:
        asked = {"Cmd": list(command), "User": user, "AttachStdout": True, "AttachStderr": True}
        create = _post("execute", container, path_of("/containers/{}/exec", container), json=asked)
        exec_id = self._transport.ask(create, inspection.made)
        # Without an Upgrade header the output is a plain body. The SDK asks for an upgrade and may lose the first frames.
        body = {"Detach": False, "Tty": False}
        start = _post("execute", container, path_of("/exec/{}/start", exec_id), json=body, timeout=seconds)
        output = {STDOUT: bytearray(), STDERR: bytearray()}
        size = 0
        with self._transport.open(start) as answer, self._transport.sense(start):
            frames = Frames()
            for part in answer.parts(seconds):
                for stream, payload in frames.feed(part):
                    size += len(payload)
                    # Read to the end all the same: a full pipe would stop the command.
                    if size <= OUTPUT_LIMIT:
                        output[stream] += payload
        code = self._code(exec_id, container)
        if size > OUTPUT_LIMIT:
            raise EngineRefused("execute", container, 413, f"{command[0]!r} printed more than {OUTPUT_LIMIT} bytes.")
        out, err = (output[stream].decode(errors="replace") for stream in (STDOUT, STDERR))
        return Executed(code=code, out=out, err=err)

    def _code(self, exec_id: str, container: str) -> int:
        """Return the exit code, which Docker notes a moment after the output ended."""
        codes: list[int] = []

        def noted() -> bool:
            look = _get("execute", container, path_of("/exec/{}/json", exec_id))
            code = self._transport.ask(look, inspection.exit_code)
            codes.extend([] if code is None else [code])
            return bool(codes)

        # A command may close its output and go on, so this is not only bookkeeping: 20 seconds in all.
        if not patiently(noted, first=0.005, tries=13):
            raise EngineTimeout(f"A command in {container!r} closed its output but did not end.")
        return codes[0]

    def logs(self, container: str, tail: int) -> str:
        """Return the last lines of output, of both streams."""
        query = {"stdout": "1", "stderr": "1", "tail": str(tail)}
        call = _get("logs", container, path_of("/containers/{}/logs", container), query=query)
        output = bytearray()
        with self._transport.open(call) as answer, self._transport.sense(call):
            frames = _frames(answer)
            for part in answer.parts(call.timeout):
                for _, payload in frames.feed(part):
                    output += payload
                del output[:-OUTPUT_LIMIT]
        return output.decode(errors="replace")

    def follow(self, container: str, since: str, marker: str, timeout: float) -> bool:
        """Follow output since a time until a line equals `marker`; False when the container ends before."""
        query = {"stdout": "1", "stderr": "1", "follow": "1", "since": since}
        call = _get("wait_output", container, path_of("/containers/{}/logs", container), query=query, timeout=timeout)
        streams = {STDOUT: Lines(), STDERR: Lines()}
        try:
            with self._transport.open(call) as answer, self._transport.sense(call):
                frames = _frames(answer)
                for part in answer.parts(timeout):
                    for stream, payload in frames.feed(part):
                        if marker in streams[stream].feed(payload):
                            return True
        except EngineTimeout as error:
            raise EngineTimeout(f"{container!r} did not print {marker!r} within {timeout:g} seconds.") from error
        return any(marker in lines.end() for lines in streams.values())


def _frames(answer: "Answer") -> Frames:
    return Frames(plain=answer.headers.get("Content-Type") != MULTIPLEXED)


def _get(verb: str, name: str, path: str, **more: Unpack[Options]) -> Call:
    return Call(verb=verb, name=name, method="GET", path=path, **more)


def _post(verb: str, name: str, path: str, **more: Unpack[Options]) -> Call:
    return Call(verb=verb, name=name, method="POST", path=path, **more)
