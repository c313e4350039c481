"""HTTP to the engine through docker SDK clients, and what every way of failing means.

A client is used by one thread at a time: the SDK promises no more. Idle clients are kept in a stack, so that as many exist as
calls were ever under way at once, whatever the number of threads. On a socket each holds one connection (the SDK itself keeps
a pool of connections for each URL).
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import docker
import requests
from attrs import define, field
from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnection, UnixHTTPConnectionPool
from docker.utils import parse_host
from docker.utils.utils import compare_version
from urllib3.exceptions import HTTPError, ReadTimeoutError

from sindplan.engine.answers import NONSENSE, Answer, in_words, late
from sindplan.engine.calls import Call, Parsed
from sindplan.engine.connect import Place
from sindplan.engine.refusals import refusal
from sindplan.errors import EngineError, EngineTimeout, EngineUnreachable

# The newest API this package was written for; an older engine is spoken to in its own.
NEWEST_API = "1.51"
# Seconds: to be connected, and to get the first answer of all.
CONNECT, FIRST = 5.0, 10.0

T = TypeVar("T")

_START = 'Start Docker, or set DOCKER_HOST; in a checkout of sindplan, eval "$(tools/engine env)" names its own engine.'
_CHECK = "Correct the address in DOCKER_HOST or the docker context, and see that the engine runs and can be reached."


class _Connection(UnixHTTPConnection):
    """The SDK's connection to a socket, which leaves the socket open when nobody answers."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT)
        try:
            self.sock.connect(self.unix_socket)
        except OSError:
            self.close()
            raise


class _Pool(UnixHTTPConnectionPool):
    # The stubs give the SDK's connections another type than urllib3 asks for.
    def _new_conn(self) -> Parsed:
        return _Connection(self.base_url, self.socket_path)


class _OneConnection(UnixHTTPAdapter):
    """The SDK's adapter for sockets, with one pool for all URLs: they all lead to the same socket."""

    def get_connection(self, url: bytes | str, proxies: object = None) -> UnixHTTPConnectionPool:
        del url, proxies
        with self.pools.lock:
            pool = self.pools.get(self.socket_path)
            if pool is None:
                pool = self.pools[self.socket_path] = _Pool("http+docker://localhost", self.socket_path, maxsize=1)
        return pool


@define
class Transport:
    """Calls to one engine. Made by `negotiate`."""

    place: Place
    version: str
    _idle: list[docker.APIClient] = field(factory=list, init=False)
    _closed: bool = field(default=False, init=False)

    @contextmanager
    def open(self, call: Call, *, versioned: bool = True) -> Iterator[Answer]:
        """Send a request and give the open answer; refusals and failures are raised as `EngineError`."""
        with self.client() as client, translated(self.place, call):
            response = self._request(client, call, versioned=versioned)
            try:
                answer = Answer(call, response.headers, response)
                if response.status_code >= HTTPStatus.BAD_REQUEST:
                    with self.sense(call):
                        words = answer.message()
                    raise refusal(call.verb, call.name, response.status_code, words)
                if response.is_redirect:
                    # The engine cleans paths: only a name that is none (such as `../x`) changes one.
                    raise refusal(call.verb, call.name, HTTPStatus.NOT_FOUND, "Nothing has such a name.")
                yield answer
            finally:
                response.close()

    def _request(self, client: docker.APIClient, call: Call, *, versioned: bool) -> requests.Response:
        try:
            return client.request(
                call.method,
                f"{client.base_url}{f'/v{self.version}' if versioned else ''}{call.path}",
                params=dict(call.query),
                json=call.json,
                data=call.data,
                headers={"Content-Type": "application/x-tar"} if call.data is not None else None,
                timeout=(CONNECT, call.timeout),
                stream=True,
                allow_redirects=False,
            )
        except (requests.exceptions.RequestException, HTTPError, OSError):
            raise
        except ValueError as error:
            # The SDK's library reads the address of a redirect though it does not follow it.
            raise _senseless(self.place, call, error) from error

    def send(self, call: Call) -> None:
        """Send a request whose answer says nothing."""
        with self.open(call) as answer, self.sense(call):
            answer.body()

    def ask(self, call: Call, read: Callable[[Parsed], T]) -> T:
        """Send a request and return what `read` makes of its JSON; what makes no sense to it is an `EngineError`, too."""
        with self.open(call) as answer, self.sense(call):
            return read(answer.parsed())

    @contextmanager
    def sense(self, call: Call) -> Iterator[None]:
        """Turn what comes of reading a senseless answer into an `EngineError`."""
        try:
            yield
        except NONSENSE as error:
            raise _senseless(self.place, call, error) from error

    @contextmanager
    def client(self) -> Iterator[docker.APIClient]:
        """Lend a client to the calling thread."""
        if self._closed:
            raise EngineUnreachable("The connection to Docker was closed.")
        try:
            client = self._idle.pop()
        except IndexError:
            client = self._made()
        try:
            yield client
        finally:
            self._idle.append(client)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Close all clients; one that is in use is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _made(self) -> docker.APIClient:
        client = self.place.client(self.version)
        # Docker would compress archives on its side of a local socket.
        client.headers["Accept-Encoding"] = "identity"
        if self.place.unix:
            client.mount("http+docker://", _OneConnection(str(parse_host(self.place.address))))
            # Proxies and .netrc do not apply to a socket, and looking for them takes longer than a call.
            client.trust_env = False
        return client


def negotiate(place: Place) -> Transport:
    """Ask the engine at a place for its API version.

    Raises:
        EngineUnreachable: Nobody answers there, or it is no Docker Engine.
    """
    transport = Transport(place, NEWEST_API)
    call = Call(verb="version", name=place.address, method="GET", path="/version", timeout=FIRST)
    try:
        with transport.open(call, versioned=False) as answer:
            transport.version = version_for(answer.parsed())
    except EngineTimeout as error:
        transport.close()
        raise EngineUnreachable(
            f"{place.address} accepts connections but did not answer within {FIRST:.0f} seconds: it hangs.",
            "Look at the engine's log, or restart it.",
        ) from error
    except EngineUnreachable:
        transport.close()
        raise
    except (EngineError, *NONSENSE) as error:
        transport.close()
        raise _no_docker(place, error) from error
    return transport


def version_for(found: Parsed) -> str:
    """Return the API version to speak with an engine, from its answer to `/version`.

    Raises:
        ValueError: It is none.
    """
    version = found.get("ApiVersion") if isinstance(found, dict) else None
    if not (isinstance(version, str) and version.replace(".", "").isdigit()):
        raise ValueError("it tells no API version")
    # compare_version is positive when its second argument is the newer one.
    return NEWEST_API if compare_version(NEWEST_API, version) > 0 else version


@contextmanager
def translated(place: Place, call: Call) -> Iterator[None]:
    """Turn what requests, urllib3 and the sockets raise into `EngineError`."""
    try:
        yield
    except EngineError:
        raise
    except requests.exceptions.ConnectTimeout as error:
        raise EngineUnreachable(f"Nothing answers at {place.address} within {CONNECT:.0f} seconds.", _CHECK) from error
    except requests.exceptions.ReadTimeout as error:
        raise late(call, call.timeout) from error
    except (requests.exceptions.RequestException, HTTPError, OSError) as error:
        raise _failure(place, call, error) from error


def _senseless(place: Place, call: Call, error: Exception) -> EngineError:
    if call.reading:
        return EngineUnreachable(
            f"What the Docker Engine at {place.address} answers to {call.words} makes no sense: {in_words(error)}.",
            "Look at its log (docker version, docker info), and at what stands between it and here.",
        )
    return EngineTimeout(
        f"What Docker answers to {call.words} makes no sense: {in_words(error)}; the outcome is unknown."
    )


def _no_docker(place: Place, error: Exception) -> EngineUnreachable:
    return EngineUnreachable(
        f"What answers at {place.address} is no Docker Engine: {in_words(error)}.",
        f"Correct the address ({place.origin} names it); one with TLS needs DOCKER_TLS_VERIFY or a docker context.",
    )


# The first of these in the chain of causes says what went wrong before anything was sent.
_BEFORE_SENDING: tuple[tuple[type[BaseException], str, str], ...] = (
    (
        PermissionError,
        "You may not use the Docker socket at {}.",
        "Join the group that owns the socket (often docker), or use sudo.",
    ),
    (FileNotFoundError, "No Docker Engine runs at {}: there is no such socket.", _START),
    (ConnectionRefusedError, "No Docker Engine runs at {}: the connection is refused.", _START),
    (NotADirectoryError, "{} is no address of a Docker Engine: its path goes through a file.", _CHECK),
    (socket.gaierror, "{} names a host that does not exist.", _CHECK),
    (requests.exceptions.SSLError, "The TLS connection to {} failed.", "Check DOCKER_CERT_PATH or the docker context."),
    (requests.exceptions.InvalidURL, "{} is no address.", "An address looks like unix:///var/run/docker.sock."),
)


def _failure(place: Place, call: Call, error: Exception) -> EngineError:
    """Sort a broken connection: before the request was sent, or after."""
    chain = list(_chain(error))
    if any(isinstance(cause, ReadTimeoutError | TimeoutError) for cause in chain):
        return late(call, call.timeout)
    for kind, text, fix in _BEFORE_SENDING:
        if any(isinstance(cause, kind) for cause in chain):
            return EngineUnreachable(text.format(place.address), fix)
    cause = chain[-1]
    if any(type(cause).__name__ in ("BadStatusLine", "LineTooLong", "HeaderParsingError") for cause in chain):
        return _no_docker(place, cause if isinstance(cause, Exception) else error)
    if not any(isinstance(cause, ConnectionError) for cause in chain):
        return EngineUnreachable(f"The Docker Engine at {place.address} cannot be reached: {cause}.", _CHECK)
    if call.reading:
        return EngineUnreachable(f"The connection to the Docker Engine at {place.address} broke: {cause}.", _CHECK)
    return EngineTimeout(f"The connection to Docker broke during {call.words}; its outcome is unknown.")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it wraps: requests and urllib3 put causes into `args` and `reason`, too."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner = [*current.args, getattr(current, "reason", None), current.__cause__, current.__context__]
        waiting += [one for one in inner if isinstance(one, BaseException)]
