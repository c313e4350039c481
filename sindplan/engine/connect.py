"""Where the engine is: as docker's own command decides it. Imports the docker SDK: load it only when connecting."""

import os
import shlex

import docker
from attrs import frozen
from docker.context import ContextAPI
from docker.context.config import get_current_context_name
from docker.errors import DockerException
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env

from sindplan.errors import EngineUnreachable

DEFAULT = "unix:///var/run/docker.sock"


@frozen(kw_only=True)
class Place:
    """An engine's address and how to get there.

    Attributes:
        address: As in DOCKER_HOST.
        origin: Who said so, in words, such as `DOCKER_HOST`.
        tls: Certificates, or None for none.
    """

    address: str
    origin: str
    tls: TLSConfig | None = None

    @property
    def unix(self) -> bool:
        """Whether it is a socket on this machine."""
        return self.address.startswith("unix://")

    def client(self, version: str) -> docker.APIClient:
        """Make an SDK client for this place. It does not connect yet.

        Raises:
            EngineUnreachable: The address or what is needed to reach it is wrong.
        """
        if self.address.startswith("ssh://"):
            # The SDK's own way leaves ssh processes behind, which hold the output open: `sindplan apply | tee log` would not end.
            raise EngineUnreachable(
                f"The engine at {self.address} (from {self.origin}) is behind SSH, which sindplan does not speak itself.",
                _fix_for(self.address),
            )
        try:
            return docker.APIClient(base_url=self.address, version=version, tls=self.tls or False)
        except (DockerException, ValueError) as error:
            raise EngineUnreachable(
                f"The engine address {self.address!r} (from {self.origin}) cannot be used: {error}.",
                _fix_for(self.address),
            ) from error


def find(address: str | None = None) -> Place:
    """Choose the engine: the given address, DOCKER_HOST, DOCKER_CONTEXT, the current context, or the default socket.

    Raises:
        EngineUnreachable: A context is named that does not exist or cannot be read.
    """
    for given, origin in ((address, "the given address"), (os.environ.get("DOCKER_HOST"), "DOCKER_HOST")):
        if given:
            return Place(address=_plain(given), origin=origin, tls=_tls_from_environment())
    name = os.environ.get("DOCKER_CONTEXT")
    return _from_context(name or get_current_context_name(), "DOCKER_CONTEXT" if name else "docker's current context")


def _from_context(name: str, origin: str) -> Place:
    if name == "default":
        return Place(address=DEFAULT, origin="the default", tls=_tls_from_environment())
    try:
        context = ContextAPI.get_context(name)
    # The SDK raises bare Exception for a context whose files are damaged.
    except Exception as error:
        raise EngineUnreachable(
            f"The docker context {name!r} cannot be read: {error}.", f"Look at docker context inspect {name}."
        ) from error
    host = getattr(context, "Host", None)
    if not host:
        raise EngineUnreachable(
            f"{origin} is {name!r}, but there is no docker context of that name.",
            "See docker context ls; set DOCKER_HOST or DOCKER_CONTEXT, or run docker context use default.",
        )
    return Place(address=_plain(host), origin=f"the docker context {name!r}", tls=context.TLSConfig)


def _tls_from_environment() -> TLSConfig | None:
    try:
        tls = kwargs_from_env().get("tls")
    except DockerException as error:
        folder = os.environ.get("DOCKER_CERT_PATH") or "~/.docker"
        raise EngineUnreachable(
            f"TLS is asked for (DOCKER_TLS_VERIFY or DOCKER_CERT_PATH), but its certificates cannot be used: {error}.",
            f"Put cert.pem, key.pem and ca.pem into {folder}, or unset both variables.",
        ) from error
    return tls if isinstance(tls, TLSConfig) else None


def _plain(address: str) -> str:
    """Write an address in one way: the SDK takes several for a socket."""
    address = address.strip()
    if address.startswith("http+unix://"):
        address = address.removeprefix("http+")
    if address.startswith("/"):
        address = f"unix://{address}"
    return DEFAULT if address in ("unix://", "") else address


def _fix_for(address: str) -> str:
    if not address.startswith("ssh://"):
        return "An address looks like unix:///var/run/docker.sock or tcp://host:2375."
    host = address.removeprefix("ssh://").rstrip("/") or "user@host"
    return (
        f"Have ssh bring its socket here: ssh -fNT -L /tmp/engine.sock:/var/run/docker.sock {shlex.quote(f'ssh://{host}')}; then "
        "DOCKER_HOST=unix:///tmp/engine.sock"
    )
