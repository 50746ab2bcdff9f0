"""A world's inbox."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence

from ._transport import QueryValue, Transport, paged
from .message import Delivery, Message, delivery, message
from .values import Duration, duration_text, present, seconds


class Inbox:
    """The part of a world in which mails and text messages lie."""

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
        """The mails and text messages in the inbox that meet all conditions, the oldest first.

        Args:
            to: To this address or phone number; `*` stands for any characters.
            sender: The same for who it is from.
            subject: What the subject contains, in any case.
            text: What the text or the HTML contains, in any case.
            kind: `mail` or `text`.
            after: Those that came after the one with this ID.
            limit: The latest so many; with `after`, the next so many.
            wait: How long to wait, a minute at most, until there is one.
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
        return [message(self._transport, self._whole(one)) for one in found]

    def _whole(self, listed: Mapping[str, Any]) -> Mapping[str, Any]:
        """The message with all its text, of which lists show the beginning."""
        if not listed.get("cut"):
            return listed
        whole: Mapping[str, Any] = self._transport.json("GET", f"mail/{listed['id']}")
        return whole

    def send_mail(
        self,
        *,
        sender: str,
        to: Sequence[str],
        cc: Sequence[str] = (),
        reply_to: Optional[str] = None,
        subject: str = "",
        text: Optional[str] = None,
        html: Optional[str] = None,
    ) -> Delivery:
        """Sends a mail as if by SMTP: a relay judges it, and it lies in the inbox."""
        body = present(
            to=list(to), cc=list(cc), replyTo=reply_to, subject=subject, text=text, html=html, **{"from": sender}
        )
        return delivery(self._transport, self._transport.json("POST", "mail", body))

    def delete_mail(self) -> None:
        """Empties the inbox."""
        self._transport.json("DELETE", "mail")
