"""Sign in with Apple on a device, and actions on Apple's side such as notifications and revocations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Mapping, Optional, Sequence, Tuple, Union

from ._transport import Transport
from .errors import AppleAuthorizationError, AppleErrorCode, ControlError, is_told_by_its_message
from .values import JSONObject, present, texts

__tracebackhide__ = is_told_by_its_message

AppleScope = Literal["fullName", "email"]
CredentialState = Literal["authorized", "revoked", "notFound", "transferred"]
AppleEvent = Literal["email-disabled", "email-enabled", "consent-revoked", "account-deleted"]


class RealUserStatus(IntEnum):
    """`ASUserDetectionStatus`."""

    UNSUPPORTED = 0
    UNKNOWN = 1
    LIKELY_REAL = 2


@dataclass(frozen=True)
class FullName:
    """A person's name, in the form in which the app receives it."""

    given_name: str
    family_name: str


@dataclass(frozen=True)
class AppleCredential:
    """The contents of an app's `ASAuthorizationAppleIDCredential`."""

    user: str
    """The person's ID for this team, which is also the ID token's `sub`."""
    state: Optional[str]
    authorized_scopes: Tuple[str, ...]
    authorization_code: str = field(repr=False)
    identity_token: str = field(repr=False)
    email: Optional[str]
    """The person's name. Apple sends it only at the first sign-in to one of the team's apps."""
    full_name: Optional[FullName]
    """The person's address. Apple sends it only at the first sign-in to one of the team's apps."""
    real_user_status: RealUserStatus


class Apple:
    """Apple without the web pages: native sign-ins, notifications, revocations and the private relay."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def authorize(
        self,
        client: str,
        *,
        nonce: Optional[str] = None,
        scopes: Union[AppleScope, Sequence[AppleScope]] = (),
        state: Optional[str] = None,
        account: Optional[str] = None,
    ) -> AppleCredential:
        """Signs in as an app on a device does. Returns what `ASAuthorizationController` would deliver to the app.

        Args:
            client: The App ID.
            nonce: The value of the app's `request.nonce`: the hash of `nonce_pair()`.
            scopes: The scopes that the app requests.
            state: The value of the app's `request.state`.
            account: The ID of the person who is signed in on the device. By default, the ordered outcome names the
                person; without one it is the seed's first person.

        Raises:
            AppleAuthorizationError: The ordered outcome is that the person cancels, or Apple refuses.
        """
        request = present(client=client, nonce=nonce, scopes=texts(scopes), state=state, account=account)
        try:
            answer = self._transport.json("POST", "apple/authorizations", request)
        except ControlError as refusal:
            error = refusal.document.get("error", {})
            if "domain" not in error or error["code"] not in list(AppleErrorCode):
                raise
            code, name, message = error["code"], str(error.get("name", "")), str(error.get("message", ""))
            raise AppleAuthorizationError(code, name, error["domain"], message) from None
        full_name: Optional[Mapping[str, str]] = answer.get("fullName")
        return AppleCredential(
            user=answer["user"],
            state=answer.get("state"),
            authorized_scopes=tuple(answer["authorizedScopes"]),
            authorization_code=answer["authorizationCode"],
            identity_token=answer["identityToken"],
            email=answer.get("email"),
            full_name=FullName(full_name["givenName"], full_name["familyName"]) if full_name else None,
            real_user_status=RealUserStatus(answer["realUserStatus"]),
        )

    def credential_state(self, client: str, user: str) -> CredentialState:
        """Returns what `getCredentialState(forUserID:)` would answer for a credential's `user`."""
        answer = self._transport.json("GET", "apple/credential-state", query={"client": client, "user": user})
        state: CredentialState = answer["state"]
        return state

    def notify(self, event: AppleEvent, *, account: str, client: str) -> JSONObject:
        """Makes an event happen, and sends Apple's server-to-server notification of it. Returns the result of sending
        it."""
        order = {"type": event, "account": account, "client": client}
        return dict(self._transport.json("POST", "apple/notifications", order))

    def revoke(self, *, account: str, client: str) -> JSONObject:
        """Removes the app in the person's settings. `*` stands for everybody, or for every app."""
        return dict(self._transport.json("POST", "apple/revocations", {"account": account, "client": client}))

    def relay(self, *, sender: str, to: str) -> JSONObject:
        """Returns what the private relay does with a mail: `forwarded` with the address and the sender, or why not."""
        return dict(self._transport.json("GET", "apple/relay", query={"from": sender, "to": to}))

    def rotate_keys(self) -> JSONObject:
        """Publishes a new signing key, and withdraws the oldest one."""
        return dict(self._transport.json("POST", "apple/keys/rotate"))
