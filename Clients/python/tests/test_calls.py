"""A test that the package has a method for each call of the control API."""

from __future__ import annotations

import io
import tarfile
from typing import Set

import understudy_client
from understudy_client import Understudy, World

# These calls need no method: they describe the API, or methods do the same by other calls.
LEFT_OUT = {"GET ", "GET openapi.json", "POST worlds/:name/reset"}
METHODS = {
    "DELETE accounts/:id": "accounts.remove",
    "DELETE faults": "remove_faults",
    "DELETE faults/:id": "Order.remove",
    "DELETE mail": "delete_mail",
    "DELETE mail/:id": "delete_mail",
    "DELETE openid/clients": "openid.remove_clients",
    "DELETE openid/clients/:client": "openid.remove_clients",
    "DELETE outcomes": "remove_outcomes",
    "DELETE outcomes/:id": "Order.remove",
    "DELETE requests": "forget_requests",
    "DELETE scenarios/:name": "scenarios.end",
    "DELETE worlds/:name": "delete",
    "GET accounts": "accounts.list",
    "GET accounts/:id": "accounts.__getitem__",
    "GET apple/credential-state": "apple.credential_state",
    "GET apple/relay": "apple.relay",
    "GET clock": "clock.reset",
    "GET endpoints": "endpoints",
    "GET faults": "faults",
    "GET firebase/export": "firebase_export",
    "GET health": "Understudy.health",
    "GET mail": "mail",
    "GET mail/:id": "message",
    "GET mail/:id/attachments/:number": "Message.attachment",
    "GET mail/:id/raw": "Message.raw",
    "GET openid/clients": "openid.clients",
    "GET outcomes": "outcomes",
    "GET flows": "sign_ins",
    "GET flows/:id": "sign_in",
    "GET requests": "requests",
    "GET requests/:id": "request",
    "GET scenarios": "scenarios.list",
    "GET scenarios/:name": "scenarios.get",
    "GET seed": "current_seed",
    "GET snapshot": "snapshot",
    "GET worlds": "Understudy.worlds",
    "PATCH accounts/:id": "accounts.change",
    "POST accounts": "accounts.add",
    "POST apple/authorizations": "apple.authorize",
    "POST apple/keys/rotate": "apple.rotate_keys",
    "POST apple/notifications": "apple.notify",
    "POST apple/revocations": "apple.revoke",
    "POST clock": "clock.set",
    "POST explain": "explain",
    "POST facebook/authorizations": "facebook.authorize",
    "POST facebook/revocations": "facebook.revoke",
    "POST faults": "fault",
    "POST github/logouts": "github.log_out",
    "POST github/revocations": "github.revoke",
    "POST google/authorizations": "google.authorize",
    "POST google/revocations": "google.revoke",
    "POST google/security-events": "google.send_security_event",
    "POST mail": "send_mail",
    "POST mail/:id/replies": "Message.reply",
    "POST openid/logouts": "openid.log_out",
    "POST microsoft/revocations": "microsoft.revoke",
    "POST openid/revocations": "openid.revoke",
    "POST outcomes": "order",
    "POST reset": "reset",
    "POST scenarios/:name": "scenarios.play",
    "POST seed": "seed",
    "POST tokens": "tokens.mint",
    "POST tokens/revocations": "tokens.revoke",
    "POST verify": "verify",
    "POST worlds": "environment",
    "PUT seed": "replace_seed",
    "PUT snapshot": "restore",
}


def test_every_call_has_a_method(understudy: Understudy, world: World) -> None:
    calls: Set[str] = set()
    for call in understudy.transport.json("GET", "")["calls"]:
        calls.add(f"{call['method']} {call['url'].partition('/_understudy/v1/')[2]}")
    assert calls - LEFT_OUT == set(METHODS)
    for method in METHODS.values():
        owner = understudy_client if method[0].isupper() else world
        value: object = owner
        for name in method.split("."):
            value = getattr(value, name)
        assert callable(value)


def test_endpoints(world: World) -> None:
    [token] = [one for one in world.endpoints() if one.get("path") == "/auth/token"]
    assert token["host"] == "appleid.apple.com" and "invalid_grant" in token["errors"]


def test_a_firebase_export(world: World) -> None:
    with tarfile.open(fileobj=io.BytesIO(world.firebase_export("demo-app"))) as archive:
        assert any(name.endswith("accounts.json") for name in archive.getnames())
