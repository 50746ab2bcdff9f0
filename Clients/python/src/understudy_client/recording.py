"""Recorded exchanges, and checks of them."""

from __future__ import annotations

import re
import urllib.parse
from typing import Dict, List, Mapping, Optional, Sequence, Union

from ._transport import QueryValue, Transport, paged
from .errors import ControlError, VerificationError, is_told_by_its_message
from .exchange import Exchange, exchange
from .sign_in import SignIn, sign_in
from .values import Duration, JSONObject, duration_text, present, seconds

__tracebackhide__ = is_told_by_its_message

# An error message lists at most this many exchanges.
_SHOWN = 20


class Recording:
    """The part of a world that holds its recording."""

    _transport: Transport

    def requests(
        self,
        *,
        host: Optional[str] = None,
        path: Optional[str] = None,
        method: Optional[str] = None,
        client: Optional[str] = None,
        flow: Optional[str] = None,
        status: Union[int, str, None] = None,
        refused: Optional[bool] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        wait: Optional[Duration] = None,
        count: Optional[int] = None,
    ) -> List[Exchange]:
        """Returns the recorded exchanges that meet all conditions, the oldest first.

        Args:
            host: The provider's host. `*` stands for any characters.
            path: The path. `*` stands for any characters.
            method: The method, such as `GET`. For mails by SMTP it is `SMTP`.
            client: The client ID, or at Firebase the project.
            flow: The ID of a sign-in's first exchange.
            status: The status, such as `401`, or a class such as `"4xx"`.
            refused: `True` returns only refused requests, which have a diagnosis, and `False` only the others.
            after: The ID of an exchange. Only later ones are returned.
            limit: The maximum number. It keeps the latest ones, or with `after` the next ones.
            wait: The time to wait, at most a minute, until there are `count` of them.
            count: The number to wait for, 1 by default.
        """
        query: Dict[str, QueryValue] = _criteria(
            host=host, path=path, method=method, client=client, flow=flow, status=status, refused=refused
        )
        query.update(after=after, limit=limit)
        if wait is not None:
            query.update(wait=duration_text(wait), count=count)
        return _found(self._transport, query, seconds(wait or ""))

    def verify(
        self,
        *,
        host: Optional[str] = None,
        path: Optional[str] = None,
        method: Optional[str] = None,
        client: Optional[str] = None,
        flow: Optional[str] = None,
        status: Union[int, str, None] = None,
        refused: Optional[bool] = None,
        fields: Optional[Mapping[str, str]] = None,
        times: Optional[int] = None,
        at_least: Optional[int] = None,
        at_most: Optional[int] = None,
    ) -> None:
        """Checks that at least one request meets all conditions, or as many as are given. `requests` has the same
        conditions.

        Args:
            fields: Fields of the query, form or JSON body, and their values.
            times: The exact number of requests.
            at_least: The minimum number of requests.
            at_most: The maximum number of requests. 0 means that there must be none.

        Raises:
            VerificationError: The number isn't right. The error lists the requests that nearly match, and those that
                came.
        """
        expectation = _criteria(
            host=host, path=path, method=method, client=client, flow=flow, status=status, refused=refused
        )
        numbers = present(times=times, atLeast=at_least, atMost=at_most)
        sent = present(fields=None if fields is None else dict(fields))
        _verify(self._transport, {**expectation, **sent, **numbers})

    def refusals(self) -> List[Exchange]:
        """Returns the requests that were refused in this world, each with its `diagnosis`, the oldest first."""
        return self.requests(refused=True)

    def request(self, id: str) -> Exchange:
        """Returns one exchange.

        Args:
            id: The exchange's ID, which its answer has in the header `Understudy-Request`.

        Raises:
            ControlError: The recording doesn't hold it (`noSuchRequest`).
        """
        return exchange(self._transport.json("GET", f"requests/{urllib.parse.quote(id, safe='')}"))

    def sign_ins(
        self,
        *,
        refused: Optional[bool] = None,
        unfinished: Optional[bool] = None,
        provider: Optional[str] = None,
        client: Optional[str] = None,
        text: Optional[str] = None,
        all: Optional[bool] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        wait: Optional[Duration] = None,
        count: Optional[int] = None,
    ) -> List[SignIn]:
        """Returns the sign-ins that meet all conditions. The one with the latest request is the last.

        Args:
            refused: `True` returns only sign-ins that a refusal, the person or a fault stopped, and `False` only the
                others.
            unfinished: `True` returns only unfinished sign-ins, and `False` only finished ones.
            provider: The name of a provider that took part, such as `apple`.
            client: A part of the client ID, or at Firebase of the project.
            text: A text, in upper or lower case, that the diagnosis, the person, the client or an ID contains.
            all: `True` also returns entries that only requested a key set or a discovery document.
            after: The ID of a request. Only sign-ins with a later request are returned.
            limit: The maximum number. It keeps the latest ones, or with `after` the next ones.
            wait: The time to wait, at most a minute, until there are `count` of them.
            count: The number to wait for, 1 by default.
        """
        query: Dict[str, QueryValue] = {
            "refused": refused, "unfinished": unfinished, "provider": provider, "client": client, "text": text,
            "all": all, "after": after, "limit": limit,
        }
        if wait is not None:
            query.update(wait=duration_text(wait), count=count)
        return [sign_in(one) for one in paged(self._transport, "flows", "flows", query, seconds(wait or ""))]

    def sign_in(self, id: str) -> SignIn:
        """Returns one sign-in.

        Args:
            id: The ID of any of its requests.

        Raises:
            ControlError: The recording doesn't hold it (`noSuchFlow`).
        """
        return sign_in(self._transport.json("GET", f"flows/{urllib.parse.quote(id, safe='')}"))

    def forget_requests(self) -> None:
        """Empties the recording."""
        self._transport.json("DELETE", "requests")

    def har(self) -> JSONObject:
        """Returns the recording as an HTTP archive (HAR 1.2), which a browser's network panel can show."""
        archive = dict(self._transport.json("GET", "requests", query={"format": "har"}))
        log = archive["log"]
        page = log
        while more := re.search(r"after=(\w+)$", page.get("comment", "")):
            query: Dict[str, QueryValue] = {"format": "har", "after": more[1]}
            page = self._transport.json("GET", "requests", query=query)["log"]
            for member in ("entries", "_mail"):
                if member in page:
                    log.setdefault(member, []).extend(page[member])
        log.pop("comment", None)
        return archive

    def explain(self, value: str, *, raw_nonce: Optional[str] = None) -> JSONObject:
        """Explains a token, client secret, code, nonce or callback URL, and says what is wrong with it."""
        return dict(self._transport.json("POST", "explain", present(value=value, rawNonce=raw_nonce)))


def _found(transport: Transport, query: Dict[str, QueryValue], waits: float = 0) -> List[Exchange]:
    return [exchange(one) for one in paged(transport, "requests", "requests", query, waits)]


def _criteria(
    *,
    host: Optional[str],
    path: Optional[str],
    method: Optional[str],
    client: Optional[str],
    flow: Optional[str],
    status: Union[int, str, None],
    refused: Optional[bool],
) -> JSONObject:
    """Returns the conditions that aren't `None`, in the form of the control API."""
    return present(
        host=host, path=path, method=method, client=client, flow=flow, status=status, refused=refused
    )


def _verify(transport: Transport, expectation: JSONObject) -> None:
    """Compares the recording with the expectation.

    Raises:
        VerificationError: They differ. The error says how, and lists the requests that came.
    """
    try:
        transport.json("POST", "verify", expectation)
    except ControlError as error:
        if error.code != "unmet":
            raise
        complaint = error
    else:
        return
    came = _found(transport, {})
    raise VerificationError(_complaint(complaint, came))


def _complaint(error: ControlError, came: Sequence[Exchange]) -> str:
    by_id = {one.id: one for one in came}
    lines = [error.message]
    for expectation in error.document["expectations"]:
        for near in expectation.get("near", []):
            lines.append(f"came near: {by_id.get(near['id'], near['id'])}")
            lines += [f"    {difference}" for difference in near["differences"]]
    return "\n".join([*lines, account(came)])


def account(came: Sequence[Exchange]) -> str:
    """Lists the requests that came, a line each, and below a refused one the reason."""
    if not came:
        return "no request came"
    return "\n".join([f"what came ({len(came)}):", *listed(came)])


def listed(exchanges: Sequence[Exchange]) -> List[str]:
    """Lists the latest exchanges, a line each, and below it the diagnosis or the note."""
    lines = [f"  … {len(exchanges) - _SHOWN} before these"] if len(exchanges) > _SHOWN else []
    for one in exchanges[-_SHOWN:]:
        lines.append(f"  {one}")
        said = one.diagnosis or one.note
        if said:
            lines.append(f"      {said}")
    return lines
