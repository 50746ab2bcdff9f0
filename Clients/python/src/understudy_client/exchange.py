"""One recorded exchange."""

from __future__ import annotations

import base64
import json
import urllib.parse
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Mapping, Optional, Tuple

from .values import moment

@dataclass(frozen=True)
class Content:
    """The header and the body of a request or an answer."""

    headers: Tuple[Tuple[str, str], ...]
    body: bytes
    """The body, of which at most the first 256 KiB are recorded."""

    def header(self, name: str) -> Optional[str]:
        """Returns the first header field with this name, in upper or lower case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def text(self) -> str:
        """The body as text, read as UTF-8."""
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        """Returns the body, read as JSON."""
        return json.loads(self.body)

    @property
    def form(self) -> Dict[str, str]:
        """The fields of the body, read as a form. If a name comes twice, its last value counts."""
        return dict(urllib.parse.parse_qsl(self.text, keep_blank_values=True))


@dataclass(frozen=True)
class DecodedToken:
    """A JSON Web Token that was in an exchange."""

    place: str
    """The token's position, such as `response.body.id_token`."""
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bool


@dataclass(frozen=True)
class Evidence:
    """The source that shows that the provider answers in this way."""

    kind: str
    """`documented`, `recorded`, `specified`, `reported` or `chosen`."""
    source: str
    """The address of the source, or for `chosen` the reason for the choice."""
    date: Optional[str]
    """The year, month or day of the source, such as `2024-05`."""


@dataclass(frozen=True)
class Exchange:
    """One request that the daemon answered, or one mail by SMTP."""

    id: str
    flow: str
    """The ID of the first exchange of the sign-in to which this one belongs."""
    parent: Optional[str]
    """The ID of the exchange that made the daemon send this request itself."""
    time: datetime
    """The time in UTC at which it happened, by the world's clock."""
    method: str
    host: Optional[str]
    """The provider's host, such as `appleid.apple.com`, or `None` for a call of the control API."""
    path: str
    query: Dict[str, str] = field(repr=False)
    """The fields of the query."""
    status: int
    client: Optional[str]
    diagnosis: Optional[str]
    """The reason why the request was refused, or `None` if it wasn't."""
    note: Optional[str]
    """A note about something unexpected in a successful answer."""
    evidence: Optional[Evidence]
    """The source that shows that the provider answers in this way."""
    fault: Optional[str]
    """The ordered fault that took effect."""
    world: Optional[str]
    """The name of the world, if the exchanges of several worlds were requested."""
    request: Content = field(repr=False)
    response: Content = field(repr=False)
    tokens: Tuple[DecodedToken, ...] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole JSON document of the exchange that the daemon sent."""

    @property
    def is_refused(self) -> bool:
        """Whether the request was refused, and therefore has a diagnosis."""
        return self.diagnosis is not None

    def __str__(self) -> str:
        place = f"{self.host or ''}{self.path}"
        client = f" from {self.client}" if self.client else ""
        return f"{self.id} {self.method} {place}{client}: {self.status}"


def _evidence(known: Optional[Mapping[str, Any]]) -> Optional[Evidence]:
    return Evidence(known["kind"], known["source"], known.get("date")) if known else None


def exchange(document: Mapping[str, Any]) -> Exchange:
    """Reads an exchange from a document of the control API."""
    request = document["request"]
    query = urllib.parse.urlsplit(request["target"]).query
    return Exchange(
        id=document["id"],
        flow=document["flow"],
        parent=document.get("parent"),
        time=moment(document["time"]),
        method=document["method"],
        host=document.get("host"),
        path=document["path"],
        query=dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
        status=document["status"],
        client=document.get("client"),
        diagnosis=document.get("diagnosis"),
        note=document.get("note"),
        evidence=_evidence(document.get("evidence")),
        fault=document.get("fault"),
        world=document.get("world"),
        request=_content(request),
        response=_content(document["response"]),
        tokens=tuple(
            DecodedToken(token["place"], token["header"], token["claims"], token["signed"])
            for token in document.get("tokens", [])
        ),
        document=document,
    )


def _content(document: Mapping[str, Any]) -> Content:
    if "bodyBase64" in document:
        body = base64.b64decode(document["bodyBase64"])
    else:
        body = document.get("body", "").encode()
    return Content(tuple((one["name"], one["value"]) for one in document["headers"]), body)
