"""Orders: outcomes of sign-ins, and faults."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, List, Literal, Mapping, Optional, Sequence, Type, Union

from ._transport import Transport
from .errors import ControlError, is_told_by_its_message
from .values import Duration, JSONObject, duration_text, present, texts

__tracebackhide__ = is_told_by_its_message

# A test report lists at most this many orders.
_SHOWN = 20

OutcomeKind = Literal["approve", "cancel", "error"]


class Order:
    """An order: an outcome or a fault. In a `with` statement, it is removed at the end of the block."""

    def __init__(self, transport: Transport, path: str, document: JSONObject) -> None:
        self._transport = transport
        self._path = path
        self.id: str = document["id"]
        self.document = document
        """The JSON document of the order that the daemon sent."""

    def remove(self) -> bool:
        """Removes the order. Returns `True` if it was still waiting, and `False` if it has been carried out in full."""
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
    """Returns a line for each order that never took effect. Often such an order is wrong, and not the code under
    test."""
    lines = []
    for fault in world.faults():
        if fault.document["seen"] == 0:
            match = json.dumps(fault.document["match"], ensure_ascii=False)
            lines.append(f"{fault.id} met no request that matches {match}")
    for outcome in world.outcomes():
        # An outcome without a number of times may have taken effect, although it still waits.
        if outcome.document["times"] is not None:
            lines.append(f"{described(outcome)} still waits for a sign-in (times: {outcome.document['times']})")
    return lines[-_SHOWN:]


def described(outcome: Order) -> str:
    """Describes an outcome: `outcome-1, approve at apple by ada for client com.example.web,`."""
    document = outcome.document
    text = f"{outcome.id}, {document['outcome']} at {document['provider']}"
    if document.get("account"):
        text += f" by {document['account']}"
    return text + (f" for client {document['client']}," if document.get("client") else ",")


class Ordering:
    """The part of a world with which a test orders outcomes and faults."""

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
        """Orders how the next sign-in ends: on the web (where no page is shown), on a device, or by the device flow.

        Args:
            provider: `apple`, `github`, `google`, `facebook`, `microsoft` or `openid`.
            outcome: `approve`, `cancel` or `error`.
            client: The client whose sign-ins the outcome is for. By default it is for all.
            account: The ID of the person who signs in.
            error: The error's name, if the outcome is `error`.
            share_email: Whether the person shares the address (for Apple).
            name: The name to which the person changes theirs (for Apple): `{"given": "Ada", "family": "L."}`.
            scopes: The scopes that the person grants. By default it is all that the app requests.
            times: The number of sign-ins to which the outcome applies. `None` stands for all.
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
        """Orders a fault: what goes wrong, for which requests, and how often.

        Args:
            host: The host of the requests. `*` stands for any characters.
            path: The path of the requests. `*` stands for any characters.
            method: The method of the requests.
            client: The client of the requests.
            fields: Fields that the requests have in the query, form or JSON body, with their values.
            status: The status of an answer that replaces the endpoint's, with `headers` and `body`.
            headers: The header fields of the answer with `status`.
            body: The body of the answer with `status`: a text, or JSON.
            delay: The time by which the answer is late.
            disconnect: `True` closes the connection before the answer, `"midBody"` in the middle of the body.
            error: The name of one of the endpoint's errors, which it answers in its own format.
            description: The description of the `error`.
            token: Changes that break minted tokens: `{"claims": {"aud": "other", "exp": "-1h"}, "signature":
                "invalid"}`.
            response: New values of members of the JSON answer. `None` removes a member: `{"expires_in": "3600",
                "id_token": None}`.
            match: Further conditions, as the control API writes them: `{"smtp": "RCPT"}` for mail.
            effect: Other effects, as the control API writes them: `{"rotateKeys": True}`, `{"jwks": "empty"}`.
            after: The number of matching requests that are answered normally first.
            times: The number of requests to which the fault then applies. `None` stands for all.
            probability: The probability, from 0 to 1, that it applies to each of them.
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
        """Lists the outcomes that wait for a sign-in."""
        return self._waiting("outcomes")

    def faults(self) -> List[Order]:
        """Lists the faults that wait for a request. In a fault's `document`, `done` says how often it has taken
        effect."""
        return self._waiting("faults")

    def _waiting(self, path: str) -> List[Order]:
        return [Order(self._transport, path, one) for one in self._transport.json("GET", path)[path]]

    def remove_outcomes(self) -> None:
        """Removes all outcomes."""
        self._transport.json("DELETE", "outcomes")

    def remove_faults(self) -> None:
        """Removes all faults."""
        self._transport.json("DELETE", "faults")

    def endpoints(self) -> List[JSONObject]:
        """Lists the endpoints at which faults can be ordered: `host`, `method`, `path`, the possible effects, and
        `errors`."""
        return [dict(one) for one in self._transport.json("GET", "endpoints")["endpoints"]]
