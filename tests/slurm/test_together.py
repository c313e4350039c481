"""Several applies of one file at once: one after the other, and nothing is done twice."""

import contextlib
import signal

import pytest

from tests.fault_proxy import fault_proxy

pytestmark = pytest.mark.proof


def test_three_applies_at_once(lab):
    """The second meets the file's lock, the third, of somebody with other files, the one on the engine."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    first = lab.start("apply")
    first.until("/dev/volume/")
    first.process.send_signal(signal.SIGSTOP)
    with contextlib.ExitStack() as opened:
        proxies = [opened.enter_context(fault_proxy(lab.address)) for _ in range(2)]
        homes = [lab.folder / "state", lab.folder / "elsewhere"]
        others = [
            lab.start("apply", DOCKER_HOST=proxy.address, XDG_STATE_HOME=str(home))
            for proxy, home in zip(proxies, homes, strict=True)
        ]
        for other in others:
            other.until(f"Waiting for the lock of the realm '{realm}', held by ")
        first.process.send_signal(signal.SIGCONT)
        assert first.wait() == 0
        assert [other.wait() for other in others] == [0, 0], [other.err for other in others]

    # They planned again when it was their turn, and found nothing to do: what they made are their own locks.
    for proxy in proxies:
        done = [call for call in proxy.seen if call.number and call.status < 400 and "/exec" not in call.what]
        assert [call.what.partition("?")[0].split("/")[1] for call in done] == ["networks", "networks"], done
        assert [call.what.split(" ")[0] for call in done] == ["POST", "DELETE"]
    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}
    assert len(lab.containers()) == 2 + 3
    assert not any(name.endswith("-lock") for name in lab.networks())
