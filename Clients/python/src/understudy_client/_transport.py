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

# Seconds for each piece of an answer, and for all of it, beside what a call waits for on purpose.
TIMEOUT = 30.0
LIMIT = 120.0
_PIECE = 1 << 16
# Of a page that isn't the daemon's, this many characters are shown.
_SHOWN = 500

QueryValue = Union[str, int, bool, None]


class Answer(Dict[str, Any]):
    """The members of an answer. One that lacks what a method reads isn't from a daemon of this package's version."""

    call = ""

    def __missing__(self, name: str) -> Any:
        raise UnderstudyError(
            f"the answer to {self.call} has no {name!r}: is it an Understudy that answers, and of this package's version?"
        )


class Transport:
    """Asks one world's control API.

    A proxy that the environment names is for the code under test: calls go past it. A redirect isn't followed: the daemon makes
    none, and what else answers there doesn't get to send the control token elsewhere.
    """

    def __init__(
        self, base: str, token: Optional[str] = None, end: Callable[[], Optional[str]] = lambda: None
    ) -> None:
        """
        Args:
            base: The world's address, without a slash at the end.
            token: The control token.
            end: Says how a daemon that was started has ended; `None` while it runs, or for another one.
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
        """The members of what a call answers; none for an empty answer."""
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
        """The bytes of a call's answer, as they come.

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
    """Follows no redirect: its answer is the answer."""

    def redirect_request(self, *_: Any) -> None:
        """No further request."""
        return None


def paged(
    transport: Transport, path: str, member: str, query: Mapping[str, QueryValue], waits: float
) -> List[Mapping[str, Any]]:
    """All entries of a list, whose answers have the first ones and say that there are more.

    Only the first answer is waited for (`wait` and `count` in the query).
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
    """The body. One that comes in drops is given up after `limit` seconds, one that breaks off is none."""
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
    """Something else than Understudy has answered."""
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
