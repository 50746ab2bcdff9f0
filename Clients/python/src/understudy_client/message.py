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
    """A file that is attached to a mail."""

    number: int
    """The attachment's number in its mail. The first has 1."""
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
    """The time of the message in UTC, by the world's clock."""
    sender: str
    """The sender's address or phone number."""
    to: str
    """The first recipient."""
    recipients: Tuple[str, ...]
    """The recipients of the envelope, which may differ from those in the header."""
    subject: Optional[str]
    text: Optional[str] = field(repr=False)
    html: Optional[str] = field(repr=False)
    links: Tuple[str, ...]
    """The links in the text, then those that are only in the HTML."""
    codes: Tuple[str, ...]
    """The codes that the reader has to type in. For a mail by Firebase, it is the `oobCode` of the link."""
    attachments: Tuple[Attachment, ...] = field(repr=False)
    relay: Optional[Mapping[str, Any]] = field(repr=False)
    """The result at Apple's private relay: `address`, and `forwardedTo` and `sender`, or `refusal` and `reason`."""
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole JSON document of the message that the daemon sent."""
    _transport: Transport = field(repr=False, compare=False)

    def header(self, name: str) -> Optional[str]:
        """Returns the first field with this name, in upper or lower case, of the mail's header."""
        fields = self.document.get("headers", [])
        return next((one["value"] for one in fields if one["name"].lower() == name.lower()), None)

    def raw(self, *, forwarded: bool = False) -> bytes:
        """Returns the mail's bytes as they were sent, or with `forwarded` as the person receives them from the
        relay."""
        query: Dict[str, QueryValue] = {"as": "forwarded" if forwarded else None}
        return self._transport.bytes("GET", f"mail/{self.id}/raw", query=query)

    def attachment(self, number: int = 1) -> bytes:
        """Returns the content of an attachment."""
        return self._transport.bytes("GET", f"mail/{self.id}/attachments/{number}")

    def reply(
        self, text: Optional[str] = None, *, html: Optional[str] = None, sender: Optional[str] = None
    ) -> Delivery:
        """Sends a reply to the mail's sender. `sender` is the address that replies, by default the one that got the
        mail."""
        body = present(text=text, html=html, **{"from": sender})
        return delivery(self._transport, self._transport.json("POST", f"mail/{self.id}/replies", body))

    def delete(self) -> None:
        """Deletes the message from the inbox."""
        self._transport.json("DELETE", f"mail/{self.id}")


@dataclass(frozen=True)
class Delivery:
    """The result of sending a mail."""

    messages: Tuple[Message, ...]
    """The messages that are in the inbox now."""
    code: int
    """The code of the reply that an SMTP client would have got: 250 if the mail was accepted."""
    reply: str
    """The text of the reply that an SMTP client would have got."""
    document: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole answer. Its member `refused` lists who doesn't get the mail, and why."""


def delivery(transport: Transport, answer: Mapping[str, Any]) -> Delivery:
    """Reads the answer to the call `POST mail`."""
    smtp = answer["smtp"]
    return Delivery(
        messages=tuple(message(transport, one) for one in answer.get("messages", [])),
        code=smtp["code"],
        reply=" ".join(str(smtp[part]) for part in ("status", "text") if smtp.get(part)),
        document=answer,
    )


def message(transport: Transport, document: Mapping[str, Any]) -> Message:
    """Reads a message from a document of the control API."""
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
