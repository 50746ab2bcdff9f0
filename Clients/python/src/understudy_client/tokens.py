"""Tokens that a test gets without a sign-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Mapping, Optional, Sequence, Union

from ._transport import Transport
from .errors import is_told_by_its_message
from .values import JSONObject, present, texts

__tracebackhide__ = is_told_by_its_message

Signature = Literal["valid", "invalid", "unknownKey", "wrongAlgorithm", "none"]


@dataclass(frozen=True)
class MintedToken:
    """An ID token that was minted for a test."""

    token: str
    """The JSON Web Token in its compact form."""
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    def __str__(self) -> str:
        return self.token


class Tokens:
    """Mints valid or broken ID tokens, and revokes tokens that a provider has issued."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def mint(
        self,
        provider: str,
        client: str,
        *,
        issuer: Optional[str] = None,
        account: Optional[str] = None,
        nonce: Optional[str] = None,
        scopes: Union[str, Sequence[str], None] = None,
        claims: Optional[Mapping[str, Any]] = None,
        header: Optional[Mapping[str, Any]] = None,
        signature: Signature = "valid",
    ) -> MintedToken:
        """Mints an ID token.

        Args:
            provider: `apple`, `google`, `facebook`, `microsoft`, `firebase` or `openid`.
            client: The ID of the client for which the token is, or at Firebase the project.
            issuer: At `openid`, the issuer's ID. `None` means the first issuer that has the client.
            account: The account's ID, or at Firebase a user's local ID or address.
            nonce: The value of the claim `nonce`.
            scopes: The scopes that the person has granted.
            claims: Claims that replace the token's usual ones. `None` leaves a claim out, and a time may be relative
                (`{"exp": "-1h"}`).
            header: Members that replace the usual ones of the token's header. `None` leaves a member out.
            signature: The kind of signature, by which it can be invalid.
        """
        order = present(
            provider=provider,
            client=client,
            issuer=issuer,
            account=account,
            nonce=nonce,
            scopes=texts(scopes),
            claims=None if claims is None else dict(claims),
            header=None if header is None else dict(header),
            signature=signature,
        )
        answer = self._transport.json("POST", "tokens", order)
        return MintedToken(answer["token"], answer.get("header", {}), answer.get("claims", {}))

    def revoke(self, token: str) -> JSONObject:
        """Revokes an access or refresh token. Returns its `provider`, `kind` and `client`."""
        return dict(self._transport.json("POST", "tokens/revocations", {"token": token}))
