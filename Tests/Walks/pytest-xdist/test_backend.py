import pytest

from backend import Refused


@pytest.mark.parametrize("number", range(60))
def test_sign_in(world, backend, visit, number):
    """Sixty people with sixty names, of whom each world knows one."""
    account = {"id": f"person-{number}", "name": {"given": f"Person {number}"}, "email": f"person-{number}@example.org"}
    world.control("accounts", account)
    world.control("outcomes", {"provider": "google", "outcome": "approve", "account": account["id"]})
    session = backend.finish(visit(backend.begin()))
    assert backend.sessions[session]["email"] == account["email"]
    # Nobody else was here: one order, one sign-in, and one stranger beside the seed's three people.
    assert world.control("outcomes")["outcomes"] == []
    assert [one["id"] for one in world.control("accounts")["accounts"]].count(account["id"]) == 1
    assert len(world.control("accounts")["accounts"]) == 4
    tokens = world.control("requests?host=oauth2.googleapis.com&path=/token")["requests"]
    assert [(one["status"], one["client"]) for one in tokens] == [(200, "example.apps.googleusercontent.com")]


@pytest.mark.parametrize("number", range(4))
def test_cancel(world, backend, visit, number):
    world.control("outcomes", {"provider": "google", "outcome": "cancel", "times": None})
    with pytest.raises(Refused, match="access_denied"):
        backend.finish(visit(backend.begin()))


@pytest.mark.parametrize("number", range(4))
def test_outage(world, backend, visit, number):
    world.control("faults", {"match": {"path": "/token"}, "times": None, "effect": {"status": 503}})
    world.control("outcomes", {"provider": "google", "outcome": "approve"})
    with pytest.raises(Refused, match="503"):
        backend.finish(visit(backend.begin()))


@pytest.mark.parametrize("number", range(4))
def test_late(world, backend, visit, number):
    """An hour goes by in one world, and a code has expired there."""
    world.control("outcomes", {"provider": "google", "outcome": "approve"})
    callback = visit(backend.begin())
    world.control("clock", {"advance": "1h"})
    with pytest.raises(Refused, match="invalid_grant"):
        backend.finish(callback)
    refused = world.control("requests?refused=true")["requests"]
    assert len(refused) == 1 and "expired" in str(refused[0]["diagnosis"])


@pytest.mark.parametrize("number", range(4))
def test_strange_signature(world, backend, visit, number):
    world.control("faults", {"match": {"path": "/token"}, "effect": {"token": {"signature": "invalid"}}})
    world.control("outcomes", {"provider": "google", "outcome": "approve"})
    with pytest.raises(Refused, match="InvalidSignatureError"):
        backend.finish(visit(backend.begin()))
