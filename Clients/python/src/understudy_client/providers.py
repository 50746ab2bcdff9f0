"""Native sign-ins with Google and Facebook, and actions of people in their settings at the providers."""

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
        """Removes the app in the person's settings. `*` stands for everybody, or for every app."""
        path = f"{self._name}/revocations"
        return dict(self._transport.json("POST", path, {"account": account, "client": client}))


@dataclass(frozen=True)
class GoogleCredential:
    """The result of Google's SDK on a device."""

    user_id: str
    id_token: str
    access_token: str
    server_auth_code: Optional[str] = None
    """The code that the app's backend redeems, if there was a `server_client`."""


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
    """Google without the web pages: native sign-ins, security events and revocations."""

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
        """Signs in as an app on a device does. With `server_client`, the backend's client ID, there is also a code for
        it.

        Raises:
            ControlError: The person cancels (`code` is `canceled`), or an ordered error or fault takes effect.
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
        """Sends a security event of Cross-Account Protection to the seed's `securityEventsURL`. Returns the result.

        The event `token-revoked` needs a `refresh_token`, `verification` a `state`, and every other event an `account`.
        """
        order = present(
            type=event, client=client, account=account, refreshToken=refresh_token, reason=reason, state=state)
        return dict(self._transport.json("POST", "google/security-events", order))


@dataclass(frozen=True)
class FacebookCredential:
    """The result of Facebook's SDK on a device."""

    user_id: str
    access_token: Optional[str]
    """The access token, or `None` with Limited Login."""
    authentication_token: Optional[str]
    """The ID token of Limited Login."""


class Facebook(_Revocable):
    """Facebook without the web pages: native sign-ins, and removals of apps."""

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
        """Signs in as an app on a device does. `tracking="limited"` makes it a Limited Login.

        Raises:
            ControlError: The person cancels (`code` is `canceled`), or an ordered error or fault takes effect.
        """
        answer = _authorize(self._transport, self._name, client, account, nonce, scopes, tracking=tracking)
        return FacebookCredential(answer["userID"], answer.get("accessToken"), answer.get("authenticationToken"))


class Microsoft(_Revocable):
    """Actions of people in their settings at Microsoft."""

    _name = "microsoft"


class GitHub(_Revocable):
    """Actions of people in their settings at GitHub."""

    _name = "github"

    def log_out(self, account: str, *, session: Optional[str] = None) -> JSONObject:
        """Signs the person out in all browsers, or in the one of this session."""
        return dict(self._transport.json("POST", "github/logouts", present(account=account, session=session)))


class OpenID(_Revocable):
    """Actions of people at the OpenID Connect issuers of the seed."""

    _name = "openid"

    def log_out(self, issuer: str, account: str, *, session: Optional[str] = None) -> JSONObject:
        """Signs the person out at an issuer, in all browsers or in one session (`sid`), and notifies the clients."""
        order = present(issuer=issuer, account=account, session=session)
        return dict(self._transport.json("POST", "openid/logouts", order))

    def clients(self) -> List[JSONObject]:
        """Lists the clients that have registered themselves, the oldest first, at most a thousand."""
        answer = self._transport.json("GET", "openid/clients", query={"limit": 1_000})
        return [dict(client) for client in answer["clients"]]

    def remove_clients(self, client: Optional[str] = None) -> None:
        """Removes one or all of the clients that have registered themselves. Their codes and tokens become invalid."""
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
