"""A world's inbox."""

from __future__ import annotations

import urllib.parse
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Union

from ._transport import QueryValue, Transport, paged
from .errors import VerificationError, is_told_by_its_message
from .message import Delivery, Message, delivery, message
from .values import Duration, duration_text, present, seconds, texts

__tracebackhide__ = is_told_by_its_message

# An error message lists at most this many messages.
_SHOWN = 20


class Inbox:
    """The part of a world that holds its mails and text messages."""

    _transport: Transport

    def mail(
        self,
        *,
        to: Optional[str] = None,
        sender: Optional[str] = None,
        subject: Optional[str] = None,
        text: Optional[str] = None,
        kind: Optional[Literal["mail", "text"]] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        wait: Optional[Duration] = None,
    ) -> List[Message]:
        """Returns the mails and text messages in the inbox that meet all conditions, the oldest first.

        Args:
            to: The recipient's address or phone number. `*` stands for any characters.
            sender: The sender's address or phone number. `*` stands for any characters.
            subject: A text that the subject contains, in upper or lower case.
            text: A text that the text or the HTML contains, in upper or lower case.
            kind: `mail` or `text`.
            after: The ID of a message. Only later messages are returned.
            limit: The maximum number of messages. It keeps the latest ones, or with `after` the next ones.
            wait: The time to wait for a message, at most a minute.

        Raises:
            VerificationError: No message came within `wait`. The error lists the messages in the inbox.
        """
        query: Dict[str, QueryValue] = {
            "to": to,
            "from": sender,
            "subject": subject,
            "text": text,
            "kind": kind,
            "after": after,
            "limit": limit,
            "wait": None if wait is None else duration_text(wait),
        }
        found = paged(self._transport, "mail", "messages", query, seconds(wait or ""))
        if wait is not None and not found:
            raise VerificationError(self._lack({name: value for name, value in query.items() if value is not None}))
        return [message(self._transport, self._whole(one)) for one in found]

    def _lack(self, query: Dict[str, QueryValue]) -> str:
        wanted = ", ".join(f"{name} {value!r}" for name, value in query.items() if name != "wait") or "any"
        lines = [f"no message came within {query['wait']} ({wanted})"]
        inbox = paged(self._transport, "mail", "messages", {}, 0)
        lines += [f"  {one['id']} to {one['to']}: {one.get('subject') or one.get('text')}" for one in inbox[-_SHOWN:]]
        lines[0] += "; what lies in the inbox:" if inbox else "; the inbox is empty"
        return "\n".join(lines)

    def _whole(self, listed: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns a listed message with its whole text. Lists show only the beginning of a long text."""
        if not listed.get("cut"):
            return listed
        whole: Mapping[str, Any] = self._transport.json("GET", f"mail/{listed['id']}")
        return whole

    def send_mail(
        self,
        *,
        sender: str,
        to: Union[str, Sequence[str]],
        cc: Union[str, Sequence[str]] = (),
        reply_to: Optional[str] = None,
        subject: str = "",
        text: Optional[str] = None,
        html: Optional[str] = None,
    ) -> Delivery:
        """Puts a mail into the inbox, after the same checks, such as those of Apple's private relay, as a mail by
        SMTP."""
        body = present(
            to=texts(to), cc=texts(cc), replyTo=reply_to, subject=subject, text=text, html=html, **{"from": sender}
        )
        return delivery(self._transport, self._transport.json("POST", "mail", body))

    def message(self, id: str) -> Message:
        """Returns one message with its whole text.

        Raises:
            ControlError: No message has this ID (`noSuchMessage`).
        """
        return message(self._transport, self._transport.json("GET", _path(id)))

    def delete_mail(self, id: Optional[str] = None) -> None:
        """Deletes one message of the inbox, or all messages."""
        self._transport.json("DELETE", "mail" if id is None else _path(id))


def _path(id: str) -> str:
    return f"mail/{urllib.parse.quote(id, safe='')}"
