"""Pulling images: the one thing that the docker SDK's own verb does, for it finds a registry's credentials."""

from collections.abc import Iterable

from docker.errors import APIError, DockerException
from docker.utils import parse_repository_tag

from sindplan.engine.calls import Call, Parsed
from sindplan.engine.refusals import refusal
from sindplan.engine.transport import Transport, translated
from sindplan.errors import EngineRefused

# Seconds of silence: layers are unpacked without a word.
SILENCE = 600.0


def _refused(lines: Iterable[Parsed]) -> str | None:
    """Read an answer to its end, or to the engine's words about why there will be no image."""
    return next((str(line["error"]) for line in lines if "error" in line), None)


def pull(transport: Transport, reference: str) -> None:
    """Pull an image, as `docker pull` would. Without a tag it is `latest`."""
    repository, tag = parse_repository_tag(reference)
    call = Call(verb="pull", name=reference, method="POST", path="/images/create", timeout=SILENCE)
    with transport.client() as client, translated(transport.place, call):
        usual, client.timeout = client.timeout, int(SILENCE)
        try:
            with transport.sense(call):
                words = _refused(client.pull(repository, tag=tag or "latest", stream=True, decode=True))
            if words is not None:
                raise refusal("pull", reference, 500, words)
        except APIError as error:
            raise refusal("pull", reference, error.status_code or 500, error.explanation or str(error)) from error
        except DockerException as error:
            raise EngineRefused("pull", reference, 400, str(error)) from error
        finally:
            client.timeout = usual
