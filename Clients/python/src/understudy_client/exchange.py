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
    """The body; of a long one, only the first 256 KiB."""

    def header(self, name: str) -> Optional[str]:
        """The first field of this name, in any case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def text(self) -> str:
        """The body, read as UTF-8."""
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)

    @property
    def form(self) -> Dict[str, str]:
        """The body, read as a form: of fields that come twice, the last one."""
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
    """The source from which it is known that the provider answers so."""

    kind: str
    """`documented`, `recorded`, `specified`, `reported` or `chosen`."""
    source: str
    """The address of the source; for `chosen`, the reason."""
    date: Optional[str]
    """The year, month or day of the source, such as `2024-05`."""


@dataclass(frozen=True)
class Exchange:
    """One request that the daemon answered, or one mail by SMTP."""

    id: str
    flow: str
    """The ID of the first exchange of the sign-in to which this one belongs."""
    parent: Optional[str]
    """The exchange for which the daemon sent this one itself."""
    time: datetime
    """The time by the world's clock, in UTC."""
    method: str
    host: Optional[str]
    """The provider's, such as `appleid.apple.com`; `None` for a call of the control API, such as a native sign-in."""
    path: str
    query: Dict[str, str] = field(repr=False)
    """The fields of the query."""
    status: int
    client: Optional[str]
    diagnosis: Optional[str]
    """The reason why it was refused; `None` when it wasn't."""
    note: Optional[str]
    """A note on a surprise in a successful answer."""
    evidence: Optional[Evidence]
    """The source from which the provider's answer is known."""
    fault: Optional[str]
    """The fault that was ordered and took effect."""
    world: Optional[str]
    """The name of the world, if several worlds were asked for."""
    request: Content = field(repr=False)
    response: Content = field(repr=False)
    tokens: Tuple[DecodedToken, ...] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """All that the daemon says of it."""

    @property
    def is_refused(self) -> bool:
        """Whether it has a diagnosis."""
        return self.diagnosis is not None

    def __str__(self) -> str:
        place = f"{self.host or ''}{self.path}"
        client = f" from {self.client}" if self.client else ""
        return f"{self.id} {self.method} {place}{client}: {self.status}"


def _evidence(known: Optional[Mapping[str, Any]]) -> Optional[Evidence]:
    return Evidence(known["kind"], known["source"], known.get("date")) if known else None


def exchange(document: Mapping[str, Any]) -> Exchange:
    """An exchange as the control API writes it."""
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
