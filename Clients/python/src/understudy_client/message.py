"""A mail or a text message."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Mapping, Optional, Tuple

from ._transport import QueryValue, Transport
from .errors import is_told_by_its_message
from .values import moment, present

__tracebackhide__ = is_told_by_its_message


@dataclass(frozen=True)
class Attachment:
    """A file that a mail carries."""

    number: int
    """1 for the first one."""
    name: Optional[str]
    type: str
    """The media type, such as `application/pdf`."""
    size: int
    """The size in bytes."""


@dataclass(frozen=True)
class Message:
    """A mail, or a text message."""

    id: str
    kind: str
    """`mail` or `text`."""
    time: datetime
    """The time by the world's clock, in UTC."""
    sender: str
    """From: an address, or a phone number."""
    to: str
    """The first recipient."""
    recipients: Tuple[str, ...]
    """The envelope's recipients, whatever the header says."""
    subject: Optional[str]
    text: Optional[str] = field(repr=False)
    html: Optional[str] = field(repr=False)
    links: Tuple[str, ...]
    """The links of the text, then those that only the HTML has."""
    codes: Tuple[str, ...]
    """The codes that the reader is asked to type in; for a mail by Firebase the `oobCode` of its link."""
    attachments: Tuple[Attachment, ...] = field(repr=False)
    relay: Optional[Mapping[str, Any]] = field(repr=False)
    """The treatment by Apple's private relay: `address`, and `forwardedTo` and `sender`, or `refusal` and `reason`."""
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """All that the daemon says of it."""
    _transport: Transport = field(repr=False, compare=False)

    def header(self, name: str) -> Optional[str]:
        """The first field of this name in the mail's header, in any case."""
        fields = self.document.get("headers", [])
        return next((one["value"] for one in fields if one["name"].lower() == name.lower()), None)

    def raw(self, *, forwarded: bool = False) -> bytes:
        """The mail byte for byte; `forwarded`: as the person gets it behind a relay."""
        query: Dict[str, QueryValue] = {"as": "forwarded" if forwarded else None}
        return self._transport.bytes("GET", f"mail/{self.id}/raw", query=query)

    def attachment(self, number: int = 1) -> bytes:
        """The content of an attachment."""
        return self._transport.bytes("GET", f"mail/{self.id}/attachments/{number}")

    def reply(
        self, text: Optional[str] = None, *, html: Optional[str] = None, sender: Optional[str] = None
    ) -> Delivery:
        """The person's answer, to whom the mail was from. `sender` is who answers, when it isn't who got the mail."""
        body = present(text=text, html=html, **{"from": sender})
        return delivery(self._transport, self._transport.json("POST", f"mail/{self.id}/replies", body))

    def delete(self) -> None:
        """Takes the message out of the inbox."""
        self._transport.json("DELETE", f"mail/{self.id}")


@dataclass(frozen=True)
class Delivery:
    """The result of sending a mail."""

    messages: Tuple[Message, ...]
    """The messages that are in the inbox now."""
    code: int
    """The reply that an SMTP client would have got: 250 when the mail was taken."""
    reply: str
    """The rest of that reply."""
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole answer; `refused` in it says who doesn't get the mail, and why."""


def delivery(transport: Transport, answer: Mapping[str, Any]) -> Delivery:
    """The answer of `POST mail`."""
    smtp = answer["smtp"]
    return Delivery(
        messages=tuple(message(transport, one) for one in answer.get("messages", [])),
        code=smtp["code"],
        reply=" ".join(str(smtp[part]) for part in ("status", "text") if smtp.get(part)),
        document=answer,
    )


def message(transport: Transport, document: Mapping[str, Any]) -> Message:
    """A message as the control API writes it."""
    attachments = enumerate(document.get("attachments", []), 1)
    return Message(
        id=document["id"],
        kind=document["kind"],
        time=moment(document["time"]),
        sender=document["from"],
        to=document["to"],
        recipients=tuple(document["envelope"]["to"]),
        subject=document.get("subject"),
        text=document.get("text"),
        html=document.get("html"),
        links=tuple(document["links"]),
        codes=tuple(document["codes"]),
        attachments=tuple(
            Attachment(number, one.get("name"), one["type"], one["size"]) for number, one in attachments
        ),
        relay=document.get("relay"),
        document=document,
        _transport=transport,
    )
