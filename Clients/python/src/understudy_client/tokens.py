"""Tokens without a sign-in."""

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
    """The JSON Web Token, in its compact form."""
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    def __str__(self) -> str:
        return self.token


class Tokens:
    """Mints ID tokens, whole or broken in one place, and ends tokens that a provider gave out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def mint(
        self,
        provider: str,
        client: str,
        *,
        account: Optional[str] = None,
        nonce: Optional[str] = None,
        scopes: Union[str, Sequence[str], None] = None,
        claims: Optional[Mapping[str, Any]] = None,
        header: Optional[Mapping[str, Any]] = None,
        signature: Signature = "valid",
    ) -> MintedToken:
        """An ID token.

        Args:
            provider: `apple`, `google`, `facebook`, `microsoft`, `firebase` or `openid`.
            client: For which client; at Firebase, for which project.
            account: Whose; at Firebase a user's local ID or address.
            nonce: The claim `nonce`.
            scopes: What was granted.
            claims: Claims in place of those that it would have: `None` leaves one out, a time may be relative
                (`{"exp": "-1h"}`).
            header: The same for the token's header.
            signature: How it is signed.
        """
        order = present(
            provider=provider,
            client=client,
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
        """Ends one access or refresh token. Returns whose it was: `provider`, `kind` and `client`."""
        return dict(self._transport.json("POST", "tokens/revocations", {"token": token}))
