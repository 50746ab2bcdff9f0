"""Calls of the control API over HTTP, with nothing but the standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, List, Mapping, Optional, Union

from .errors import ControlError, Issue, UnderstudyError

# Seconds for an answer, beside what a call waits for on purpose.
TIMEOUT = 30.0

QueryValue = Union[str, int, bool, None]


class Transport:
    """Asks one world's control API.

    A proxy that the environment names is for the code under test: calls go past it.
    """

    def __init__(self, base: str, token: Optional[str] = None) -> None:
        self.base = base
        self.token = token
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, QueryValue]] = None,
        waits: float = 0,
    ) -> Any:
        """What a call answers, read as JSON; `None` for an empty answer."""
        __tracebackhide__ = True
        answer = self.bytes(method, path, None if body is None else json.dumps(body).encode(), query, waits)
        return json.loads(answer) if answer.strip() else None

    def bytes(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        query: Optional[Mapping[str, QueryValue]] = None,
        waits: float = 0,
    ) -> bytes:
        """What a call answers, as it comes.

        `waits` is how many seconds the daemon was asked to wait for something to happen.

        Raises:
            ControlError: The daemon refuses the call.
            UnderstudyError: Nobody answers.
        """
        __tracebackhide__ = True
        url = f"{self.base}/_understudy/v1/{path}{_encoded(query or {})}"
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(url, body, headers, method=method)
        try:
            with self._opener.open(request, timeout=TIMEOUT + waits) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(method, path, url, error.code, error.read()) from None
        except OSError as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise UnderstudyError(f"no Understudy answers at {self.base}: {reason}") from error


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


def _encoded(query: Mapping[str, QueryValue]) -> str:
    fields = [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in query.items()
        if value is not None
    ]
    return f"?{urllib.parse.urlencode(fields)}" if fields else ""


def _refusal(method: str, path: str, url: str, status: int, body: bytes) -> ControlError:
    text = body.decode(errors="replace")
    try:
        document = json.loads(text)
    except ValueError:
        document = {}
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        document, error = {}, {"message": text.strip() or "without a reason"}
    issues = [Issue(str(one.get("path", "$")), str(one.get("message", ""))) for one in error.get("faults", [])]
    return ControlError(
        call=f"{method} {path}",
        url=url,
        status=status,
        code=str(error.get("code", status)),
        message=str(error.get("message", "")),
        path=error.get("path"),
        issues=tuple(issues),
        document=document,
    )
