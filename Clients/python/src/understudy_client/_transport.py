"""Calls of the control API over HTTP, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .errors import ControlError, Issue, UnderstudyError, is_told_by_its_message

__tracebackhide__ = is_told_by_its_message

# TIMEOUT is the time limit for each piece of an answer, and LIMIT that for the whole answer, both in seconds. The time
# that a call asks the daemon to wait is added.
TIMEOUT = 30.0
LIMIT = 120.0
_PIECE = 1 << 16
# An error message shows at most this many characters of an answer that isn't the daemon's.
_SHOWN = 500

QueryValue = Union[str, int, bool, None]


class Answer(Dict[str, Any]):
    """The members of an answer. Reading one that is missing raises an error: the daemon may have another version."""

    call = ""

    def __missing__(self, name: str) -> Any:
        raise UnderstudyError(
            f"the answer to {self.call} has no {name!r}: is it an Understudy that answers, and of this package's version?"
        )


class Transport:
    """Sends calls to the control API of one world.

    The calls ignore a proxy that the environment names, which is for the code under test. They follow no redirect: the
    daemon sends none, and another server could use one to get the control token.
    """

    def __init__(
        self, base: str, token: Optional[str] = None, end: Callable[[], Optional[str]] = lambda: None
    ) -> None:
        """
        Args:
            base: The world's address, without a slash at the end.
            token: The control token.
            end: A function that says how the started daemon has ended. It returns `None` while the daemon runs, and for
                a daemon that this package didn't start.
        """
        self.base = base
        self.token = token
        self._end = end
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay())

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, QueryValue]] = None,
        waits: float = 0,
    ) -> Answer:
        """Sends a call, and returns the members of its JSON answer, or no members for an empty answer."""
        content = self.bytes(method, path, None if body is None else json.dumps(body).encode(), query, waits)
        try:
            document = json.loads(content) if content.strip() else {}
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise _unexpected(f"{method} {path}", self.base, 200, content)
        answer = Answer(document)
        answer.call = f"{method} {path}"
        return answer

    def bytes(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        query: Optional[Mapping[str, QueryValue]] = None,
        waits: float = 0,
    ) -> bytes:
        """Sends a call, and returns the bytes of its answer unchanged.

        `waits` is how many seconds the daemon was asked to wait for something to happen.

        Raises:
            ControlError: The daemon refuses the call.
            UnderstudyError: Nobody answers.
        """
        url = f"{self.base}/_understudy/v1/{path}{_encoded(query or {})}"
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(url, body, headers, method=method)
        try:
            try:
                with self._opener.open(request, timeout=TIMEOUT + waits) as answer:
                    return _read(answer, LIMIT + waits)
            except urllib.error.HTTPError as error:
                with error:
                    refused, content = error.code, _read(error, LIMIT)
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            text = self._end() or str(reason).strip() or type(reason).__name__
            raise UnderstudyError(f"no Understudy answers at {self.base}: {text}") from None
        raise _refusal(f"{method} {path}", url, self.base, refused, content)


class Stay(urllib.request.HTTPRedirectHandler):
    """A handler that follows no redirect, so that the redirect itself is the answer."""

    def redirect_request(self, *_: Any) -> None:
        """Returns `None`, which means that no further request is sent."""
        return None


def paged(
    transport: Transport, path: str, member: str, query: Mapping[str, QueryValue], waits: float
) -> List[Mapping[str, Any]]:
    """Returns all entries of a list, requesting further pages while an answer says that there are more.

    Only the first request has the query's `wait` and `count`.
    """
    limit = query.get("limit")
    rest = {name: value for name, value in query.items() if name not in ("wait", "count")}
    found: List[Mapping[str, Any]] = []
    answer = transport.json("GET", path, query=query, waits=waits)
    while True:
        found += answer[member]
        if isinstance(limit, int):
            rest["limit"] = limit - len(found)
        if not answer.get("more") or rest.get("limit") == 0:
            return found
        rest["after"] = answer["last"]
        answer = transport.json("GET", path, query=rest)


def _read(answer: Any, limit: float) -> bytes:
    """Reads the body. It raises an error after `limit` seconds, and when the body breaks off."""
    end = time.monotonic() + limit
    pieces = []
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        if time.monotonic() > end:
            raise TimeoutError(f"the answer wasn't whole after {limit:g} seconds")
    if getattr(answer, "length", None):
        raise ConnectionError("the answer broke off")
    return b"".join(pieces)


def _encoded(query: Mapping[str, QueryValue]) -> str:
    fields = [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in query.items()
        if value is not None
    ]
    return f"?{urllib.parse.urlencode(fields)}" if fields else ""


def _refusal(call: str, url: str, base: str, status: int, body: bytes) -> ControlError:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict) or "code" not in error or not isinstance(error.get("faults", []), list):
        return _unexpected(call, base, status, body)
    faults = [one for one in error.get("faults", []) if isinstance(one, dict)]
    return ControlError(
        call=call,
        url=url,
        status=status,
        code=str(error["code"]),
        message=str(error.get("message", "")),
        path=error.get("path"),
        issues=tuple(Issue(str(one.get("path", "$")), str(one.get("message", ""))) for one in faults),
        document=document,
    )


def _unexpected(call: str, base: str, status: int, body: bytes) -> ControlError:
    """Returns the error for an answer that doesn't come from Understudy."""
    text = body.decode(errors="replace").strip()
    shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
    return ControlError(
        call=call,
        url=base,
        status=status,
        code="unexpectedAnswer",
        message=f"what answers at {base} isn't Understudy: {shown or 'an empty answer'}",
        path=None,
        issues=(),
        document={},
    )
