"""Native sign-ins with Google and Facebook, and what people do at providers."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import Any, List, Literal, Mapping, Optional, Sequence, Union

from ._transport import Transport
from .errors import is_told_by_its_message
from .values import JSONObject, present, texts

__tracebackhide__ = is_told_by_its_message


class _Revocable:
    _name: str

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def revoke(self, *, account: str, client: str) -> JSONObject:
        """The person removes the app in their settings. `*` is everybody, or every app."""
        path = f"{self._name}/revocations"
        return dict(self._transport.json("POST", path, {"account": account, "client": client}))


@dataclass(frozen=True)
class GoogleCredential:
    """The result of Google's SDK on a device."""

    user_id: str
    id_token: str
    access_token: str
    server_auth_code: Optional[str] = None
    """With `server_client`: a code that the app's backend redeems."""


GoogleSecurityEvent = Literal[
    "sessions-revoked",
    "tokens-revoked",
    "token-revoked",
    "account-disabled",
    "account-enabled",
    "account-credential-change-required",
    "verification",
]


class Google(_Revocable):
    """Google's side beside the web flow: native sign-ins, security events, revocations."""

    _name = "google"

    def authorize(
        self,
        client: str,
        *,
        account: Optional[str] = None,
        nonce: Optional[str] = None,
        scopes: Union[str, Sequence[str], None] = None,
        server_client: Optional[str] = None,
    ) -> GoogleCredential:
        """A native sign-in. With `server_client`, the client ID of the app's backend, there is a code for it, too.

        Raises:
            ControlError: The person cancels (`code` is `canceled`), or what was ordered happens.
        """
        answer = _authorize(
            self._transport, self._name, client, account, nonce, scopes, serverClient=server_client)
        return GoogleCredential(
            answer["userID"], answer["idToken"], answer["accessToken"], answer.get("serverAuthCode"))

    def send_security_event(
        self,
        event: GoogleSecurityEvent,
        *,
        client: str,
        account: Optional[str] = None,
        refresh_token: Optional[str] = None,
        reason: Optional[Literal["hijacking", "bulk-account"]] = None,
        state: Optional[str] = None,
    ) -> JSONObject:
        """Sends a security event of Cross-Account Protection to the seed's `securityEventsURL`. Returns what became of that.

        `token-revoked` takes a `refresh_token`, `verification` a `state`, and all others an `account`.
        """
        order = present(
            type=event, client=client, account=account, refreshToken=refresh_token, reason=reason, state=state)
        return dict(self._transport.json("POST", "google/security-events", order))


@dataclass(frozen=True)
class FacebookCredential:
    """The result of Facebook's SDK on a device."""

    user_id: str
    access_token: Optional[str]
    """`None` with Limited Login."""
    authentication_token: Optional[str]
    """Limited Login's ID token."""


class Facebook(_Revocable):
    """Facebook's side beside the web flow: native sign-ins and removals of apps."""

    _name = "facebook"

    def authorize(
        self,
        client: str,
        *,
        account: Optional[str] = None,
        nonce: Optional[str] = None,
        scopes: Union[str, Sequence[str], None] = None,
        tracking: Literal["enabled", "limited"] = "enabled",
    ) -> FacebookCredential:
        """A native sign-in; with `tracking="limited"` Limited Login.

        Raises:
            ControlError: The person cancels (`code` is `canceled`), or what was ordered happens.
        """
        answer = _authorize(self._transport, self._name, client, account, nonce, scopes, tracking=tracking)
        return FacebookCredential(answer["userID"], answer.get("accessToken"), answer.get("authenticationToken"))


class Microsoft(_Revocable):
    """People's actions at Microsoft."""

    _name = "microsoft"


class GitHub(_Revocable):
    """People's actions at GitHub."""

    _name = "github"

    def log_out(self, account: str, *, session: Optional[str] = None) -> JSONObject:
        """The person is signed out of all browsers, or of one."""
        return dict(self._transport.json("POST", "github/logouts", present(account=account, session=session)))


class OpenID(_Revocable):
    """People's actions at the seed's OpenID Connect issuers."""

    _name = "openid"

    def log_out(self, issuer: str, account: str, *, session: Optional[str] = None) -> JSONObject:
        """The person is signed out of all browsers at an issuer, or of one session (`sid`). Clients are told."""
        order = present(issuer=issuer, account=account, session=session)
        return dict(self._transport.json("POST", "openid/logouts", order))

    def clients(self) -> List[JSONObject]:
        """The clients that have registered themselves, the oldest first, a thousand at most."""
        answer = self._transport.json("GET", "openid/clients", query={"limit": 1_000})
        return [dict(client) for client in answer["clients"]]

    def remove_clients(self, client: Optional[str] = None) -> None:
        """Removes a client that has registered itself, or all of them. Their codes and tokens work no more."""
        rest = "" if client is None else f"/{urllib.parse.quote(client, safe='')}"
        self._transport.json("DELETE", f"openid/clients{rest}")


def _authorize(
    transport: Transport,
    provider: str,
    client: str,
    account: Optional[str],
    nonce: Optional[str],
    scopes: Union[str, Sequence[str], None],
    **more: Any,
) -> Mapping[str, Any]:
    request = present(
        client=client, account=account, nonce=nonce, scopes=texts(scopes), **more
    )
    answer: Mapping[str, Any] = transport.json("POST", f"{provider}/authorizations", request)
    return answer
