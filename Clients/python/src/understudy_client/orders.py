"""Orders: outcomes of sign-ins, and faults."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, List, Literal, Mapping, Optional, Sequence, Type, Union

from ._transport import Transport
from .errors import ControlError, is_told_by_its_message
from .values import Duration, JSONObject, duration_text, present, texts

__tracebackhide__ = is_told_by_its_message

# How many orders a report lists.
_SHOWN = 20

OutcomeKind = Literal["approve", "cancel", "error"]


class Order:
    """Something that was ordered. In a `with` statement, it is taken back at the end of the block."""

    def __init__(self, transport: Transport, path: str, document: JSONObject) -> None:
        self._transport = transport
        self._path = path
        self.id: str = document["id"]
        self.document = document
        """The order in the form in which the daemon understood it."""

    def remove(self) -> bool:
        """Takes the order back. Returns whether it was still waiting: `False` when it has been carried out in full."""
        try:
            self._transport.json("DELETE", f"{self._path}/{self.id}")
        except ControlError as error:
            if error.status == 404:
                return False
            raise
        return True

    def __enter__(self) -> Order:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<{self._path} {self.document}>"


def unmet_orders(world: Ordering) -> List[str]:
    """A line for each order that never happened: often the order is wrong, and not the code under test."""
    lines = []
    for fault in world.faults():
        if fault.document["seen"] == 0:
            match = json.dumps(fault.document["match"], ensure_ascii=False)
            lines.append(f"{fault.id} met no request that matches {match}")
    for outcome in world.outcomes():
        # One that holds for ever may have been met.
        if outcome.document["times"] is not None:
            lines.append(f"{described(outcome)} still waits for a sign-in (times: {outcome.document['times']})")
    return lines[-_SHOWN:]


def described(outcome: Order) -> str:
    """An outcome in a few words: `outcome-1, approve at apple by ada for client com.example.web,`."""
    document = outcome.document
    text = f"{outcome.id}, {document['outcome']} at {document['provider']}"
    if document.get("account"):
        text += f" by {document['account']}"
    return text + (f" for client {document['client']}," if document.get("client") else ",")


class Ordering:
    """The part of a world by which a test orders what happens."""

    _transport: Transport

    def order(
        self,
        provider: str,
        outcome: OutcomeKind,
        *,
        client: Optional[str] = None,
        account: Optional[str] = None,
        error: Optional[str] = None,
        share_email: Optional[bool] = None,
        name: Optional[Mapping[str, str]] = None,
        scopes: Union[str, Sequence[str], None] = None,
        times: Optional[int] = 1,
    ) -> Order:
        """Says how the next sign-in goes, on every road: on the web (without a page), on a device, by the device flow.

        Args:
            provider: `apple`, `github`, `google`, `facebook`, `microsoft` or `openid`.
            outcome: `approve`, `cancel` or `error`.
            client: Only sign-ins of this client.
            account: Who signs in.
            error: The error's name, for `error`.
            share_email: Whether the person shares the address, at Apple.
            name: The name as the person edits it, at Apple: `{"given": "Ada", "family": "L."}`.
            scopes: What the person grants; all that is asked for by default.
            times: For how many sign-ins; `None` is for ever.
        """
        order = present(
            provider=provider,
            outcome=outcome,
            client=client,
            account=account,
            error=error,
            shareEmail=share_email,
            name=None if name is None else dict(name),
            scopes=texts(scopes),
        )
        answer = self._transport.json("POST", "outcomes", {**order, "times": times})
        return Order(self._transport, "outcomes", answer)

    def fault(
        self,
        *,
        host: Optional[str] = None,
        path: Optional[str] = None,
        method: Optional[str] = None,
        client: Optional[str] = None,
        fields: Optional[Mapping[str, str]] = None,
        status: Optional[int] = None,
        headers: Optional[Mapping[str, str]] = None,
        body: Union[str, Mapping[str, Any], Sequence[Any], None] = None,
        delay: Optional[Duration] = None,
        disconnect: Union[bool, Literal["midBody"], None] = None,
        error: Optional[str] = None,
        description: Optional[str] = None,
        token: Optional[Mapping[str, Any]] = None,
        response: Optional[Mapping[str, Any]] = None,
        match: Optional[Mapping[str, Any]] = None,
        effect: Optional[Mapping[str, Any]] = None,
        after: int = 0,
        times: Optional[int] = 1,
        probability: Optional[float] = None,
    ) -> Order:
        """Says what goes wrong, at which requests, and how often.

        Args:
            host: Only at this host; `*` stands for any characters.
            path: Only at this path; `*` stands for any characters.
            method: Only with this method.
            client: Only for this client.
            fields: Only with these fields in the query, form or JSON body.
            status: Answers with it in place of the endpoint, with `headers` and `body`.
            headers: See `status`.
            body: See `status`: a text, or JSON.
            delay: Answers later.
            disconnect: `True` closes the connection before the answer, `"midBody"` in the middle of it.
            error: The endpoint's own error, in its own form.
            description: The words that go with `error`.
            token: Breaks what is minted: `{"claims": {"aud": "other", "exp": "-1h"}, "signature": "invalid"}`.
            response: Changes members of the JSON answer, and takes out those that are `None`: `{"expires_in": "3600",
                "id_token": None}`.
            match: Further conditions, as the control API writes them: `{"smtp": "RCPT"}` for mail.
            effect: Other effects, as the control API writes them: `{"rotateKeys": True}`, `{"jwks": "empty"}`.
            after: How many matching requests go well first.
            times: How many go wrong; `None` is all from then on.
            probability: How likely each of them goes wrong, from 0 to 1.
        """
        where = present(
            host=host,
            path=path,
            method=method,
            client=client,
            fields=None if fields is None else dict(fields),
        )
        what = present(
            status=status,
            headers=None if headers is None else dict(headers),
            body=body,
            delay=None if delay is None else duration_text(delay),
            disconnect=disconnect,
            error=error,
            description=description,
            token=None if token is None else dict(token),
            response=None if response is None else dict(response),
        )
        fault = {"match": {**where, **(match or {})}, "effect": {**what, **(effect or {})}, "after": after, "times": times}
        answer = self._transport.json("POST", "faults", {**fault, **present(probability=probability)})
        return Order(self._transport, "faults", answer)

    def outcomes(self) -> List[Order]:
        """The outcomes that wait for a sign-in."""
        return self._waiting("outcomes")

    def faults(self) -> List[Order]:
        """The faults that wait for a request. In a fault's `document`, `done` says how often it has happened."""
        return self._waiting("faults")

    def _waiting(self, path: str) -> List[Order]:
        return [Order(self._transport, path, one) for one in self._transport.json("GET", path)[path]]

    def remove_outcomes(self) -> None:
        """Takes all outcomes back."""
        self._transport.json("DELETE", "outcomes")

    def remove_faults(self) -> None:
        """Takes all faults back."""
        self._transport.json("DELETE", "faults")

    def endpoints(self) -> List[JSONObject]:
        """The endpoints at which faults can be ordered: `host`, `method`, `path`, what `fits`, and the names of `errors`."""
        return [dict(one) for one in self._transport.json("GET", "endpoints")["endpoints"]]
