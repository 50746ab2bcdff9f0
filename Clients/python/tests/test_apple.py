"""Tests of Sign in with Apple on a device."""

from __future__ import annotations

import hashlib

import pytest

from understudy_client import (
    AppleAuthorizationError,
    AppleErrorCode,
    ControlError,
    FullName,
    RealUserStatus,
    World,
    nonce_pair,
)

APP = "com.example.app"


def test_a_credential(world: World) -> None:
    nonce = nonce_pair()
    assert hashlib.sha256(nonce.raw.encode()).hexdigest() == nonce.sha256
    assert nonce_pair() != nonce and nonce_pair(nonce.raw) == nonce
    credential = world.apple.authorize(
        APP, nonce=nonce.sha256, scopes=["fullName", "email"], state="s", account="ada"
    )
    assert credential.email == "ada@example.com"
    assert credential.full_name == FullName("Ada", "Lovelace")
    assert credential.authorized_scopes == ("fullName", "email")
    assert credential.real_user_status is RealUserStatus.LIKELY_REAL
    assert credential.state == "s"
    assert credential.authorization_code and credential.identity_token not in repr(credential)
    [token] = world.requests()[0].tokens
    assert (token.claims["sub"], token.claims["nonce"]) == (credential.user, nonce.sha256)

    again = world.apple.authorize(APP, scopes="email", account="ada")
    assert (again.user, again.email, again.full_name) == (credential.user, None, None)


@pytest.mark.parametrize("code", list(AppleErrorCode))
def test_every_error_of_the_controller(world: World, code: AppleErrorCode) -> None:
    first, *others = code.name.split("_")
    name = first.lower() + "".join(word.capitalize() for word in others)
    if code is AppleErrorCode.CANCELED:
        world.order("apple", "cancel", client=APP)
    else:
        world.order("apple", "error", error=name)
    with pytest.raises(AppleAuthorizationError, match=name) as raised:
        world.apple.authorize(APP)
    assert (raised.value.code, raised.value.name) == (code, name)
    assert raised.value.domain == "com.apple.AuthenticationServices.AuthorizationError"
    assert raised.value.message


def test_what_is_no_sign_in_at_all(world: World) -> None:
    with pytest.raises(AppleAuthorizationError, match="com.example.ap") as raised:
        world.apple.authorize("com.example.ap")
    assert raised.value.code == AppleErrorCode.UNKNOWN
    with pytest.raises(ControlError, match="nobody"):
        world.apple.authorize(APP, account="nobody")


def test_credential_states(world: World) -> None:
    user = world.apple.authorize(APP, account="ada").user
    assert world.apple.credential_state(APP, user) == "authorized"
    assert world.apple.revoke(account="ada", client=APP)["grants"] == 1
    assert world.apple.credential_state(APP, user) == "revoked"
    assert world.apple.credential_state(APP, "nobody") == "notFound"
    with pytest.raises(ControlError, match="com.example.ap"):
        world.apple.credential_state("com.example.ap", user)


def test_notifications_happen(world: World) -> None:
    user = world.apple.authorize(APP, account="ada").user
    told = world.apple.notify("consent-revoked", account="ada", client=APP)
    assert told["delivered"] is False
    assert world.apple.credential_state(APP, user) == "revoked"


def test_keys_rotate(world: World) -> None:
    keys = world.apple.rotate_keys()
    assert keys["signing"] in keys["published"]
