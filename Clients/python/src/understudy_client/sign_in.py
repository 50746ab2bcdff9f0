"""One recorded sign-in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Mapping, Optional, Tuple

from .values import moment


@dataclass(frozen=True)
class Step:
    """One request of a sign-in."""

    id: str
    """The ID of the request, for `world.request`."""
    sender: str
    """The sender of the request: `app`, `browser`, `backend`, `scenario`, or a provider."""
    receiver: str
    """The receiver of the request: a provider, `backend` or `understudy`."""
    does: str
    """The purpose of the request, such as `redeem code`."""
    method: str
    host: Optional[str]
    path: str
    status: int
    answer: str
    """A short description of the answer, such as `302 code`."""
    diagnosis: Optional[str]
    """The reason why the request was refused, or `None` if it wasn't."""
    fault: Optional[str]
    """The ordered fault that took effect."""


@dataclass(frozen=True)
class SignIn:
    """A recorded sign-in: its requests, who signed in, and how it ended."""

    id: str
    """The ID of the sign-in, which is that of its first request."""
    name: str
    """The name of the sign-in, such as `Apple web sign-in`."""
    ending: str
    """The result: `signedIn`, `refused`, `cancelled`, `faulted`, `unfinished`, `answered` or `signedOut`."""
    diagnosis: Optional[str]
    """The reason why it failed, or `None` if it didn't."""
    stopped_by: Optional[str]
    """The ID of the request that failed."""
    hint: Optional[str]
    """A sentence that says what an unfinished sign-in waits for."""
    providers: Tuple[str, ...]
    client: Optional[str]
    account: Optional[str]
    """The ID of the person's account in this world."""
    time: Optional[datetime]
    """The time of the sign-in in UTC, by the world's clock."""
    steps: Tuple[Step, ...] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole JSON document of the sign-in that the daemon sent."""

    def __str__(self) -> str:
        reason = f": {self.diagnosis}" if self.diagnosis else ""
        return f"{self.id} {self.name}, {self.ending}{reason}"


def sign_in(document: Mapping[str, Any]) -> SignIn:
    """Reads a sign-in from a document of the control API."""
    return SignIn(
        id=document["id"],
        name=document["name"],
        ending=document["ending"],
        diagnosis=document.get("diagnosis"),
        stopped_by=document.get("stoppedBy"),
        hint=document.get("hint"),
        providers=tuple(document["providers"]),
        client=document.get("client"),
        account=document.get("person", {}).get("account"),
        time=moment(document["time"]) if "time" in document else None,
        steps=tuple(_step(one) for one in document["steps"]),
        document=document,
    )


def _step(document: Mapping[str, Any]) -> Step:
    return Step(
        id=document["id"],
        sender=document["from"],
        receiver=document["to"],
        does=document["does"],
        method=document["method"],
        host=document.get("host"),
        path=document["path"],
        status=document["status"],
        answer=document["answer"],
        diagnosis=document.get("diagnosis"),
        fault=document.get("fault"),
    )
