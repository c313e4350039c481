"""What can be done about an engine's refusals, by their texts."""

import pytest

from sindplan.engine.refusals import refusal
from sindplan.errors import Conflict, EngineRefused, NotFound


@pytest.mark.parametrize(
    ("status", "text", "kind", "fix"),
    [
        (500, "mkdir /var/lib/docker/volumes/x: no space left on device", EngineRefused, "docker system df"),
        (500, "write /etc/slurm/slurm.conf: disk quota exceeded", EngineRefused, "make room"),
        (500, "all predefined address pools have been fully subnetted", EngineRefused, "docker network prune"),
        (403, "network x has active endpoints", Conflict, ""),
        (404, "No such container: x", NotFound, ""),
        (500, "something that nobody has met", EngineRefused, ""),
    ],
)
def test_texts(status: int, text: str, kind: type[EngineRefused], fix: str) -> None:
    error = refusal("put_files", "x", status, text)

    assert type(error) is kind
    assert fix in error.fix
    assert text in error.summary
