"""JSON over HTTP, bounded, with a token that is sent to one host alone."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

LARGEST = 32 * 1024 * 1024
PAGE = 100
MOST_PAGES = 50
_SECONDS = 30


class Failed(Exception):
    """What could not be done, as one sentence."""


class _NotThere(Failed):
    """404."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to wherever it leads."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Follow none: it is an error then."""


class Client:
    """Calls one API.

    `base` is its address, `headers` what every call carries, such as the token.
    """

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        if urlsplit(base).scheme not in ("https", "http"):
            raise Failed(f"{base!r} is no address of an API.")
        self._base = base.rstrip("/")
        self._headers = headers
        self._opener = urllib.request.build_opener(_NoRedirects())

    def call(self, method: str, path: str, content: Mapping[str, Any] | None = None, **query: str) -> Any:  # noqa: ANN401
        """Call and return what was answered. Raises Failed."""
        body = self._answer(method, path, content, query)
        try:
            return json.loads(body) if body else None
        except ValueError:
            raise Failed(f"{method} {path} was answered with what is not JSON.") from None

    def file(self, path: str) -> bytes | None:
        """Return a file; None when there is none. Raises Failed."""
        try:
            return self._answer("GET", path, None, {})
        except _NotThere:
            return None

    def _answer(self, method: str, path: str, content: Mapping[str, Any] | None, query: Mapping[str, str]) -> bytes:
        url = f"{self._base}{path}{f'?{urlencode(query)}' if query else ''}"
        data = None if content is None else json.dumps(content).encode()
        headers = {**self._headers, "Accept": "application/json", "Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - the scheme was looked at
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                body: bytes = answer.read(LARGEST + 1)
        except urllib.error.HTTPError as error:
            kind = _NotThere if error.code == HTTPStatus.NOT_FOUND else Failed
            raise kind(f"{method} {path} was answered with {error.code}: {_said(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise Failed(f"{method} {path} got no answer: {error}") from None
        if len(body) > LARGEST:
            raise Failed(f"{method} {path} was answered with more than {LARGEST} bytes.")
        return body

    def listed(self, path: str, key: str = "", **query: str) -> Iterator[dict[str, Any]]:
        """Yield all things of a list, page by page; `key` is where in an answer the list stands. Raises Failed."""
        for page in range(1, MOST_PAGES + 1):
            answer = self.call("GET", path, None, **query, per_page=str(PAGE), page=str(page))
            found = answer.get(key) if key and isinstance(answer, dict) else answer
            if not isinstance(found, list):
                raise Failed(f"GET {path} was not answered with a list.")
            yield from (one for one in found if isinstance(one, dict))
            if len(found) < PAGE:
                return
        raise Failed(f"GET {path} has more than {MOST_PAGES * PAGE} things.")


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(500).decode("utf-8", "replace").replace("\n", " ")
    except (OSError, HTTPException):
        return ""
