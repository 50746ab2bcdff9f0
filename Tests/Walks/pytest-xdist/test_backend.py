import pytest

from backend import Refused


@pytest.mark.parametrize("number", range(60))
def test_sign_in(world, backend, visit, number):
    """Sixty people with sixty names, of whom each world knows one."""
    account = world.accounts.add(f"person-{number}", email=f"person-{number}@example.org")
    world.order("google", "approve", account=account["id"])
    session = backend.finish(visit(backend.begin()))
    assert backend.sessions[session]["email"] == account["email"]
    # Nobody else was here: one order, one sign-in, and one stranger beside the seed's three people.
    assert world.outcomes() == []
    assert account["id"] in world.accounts and len(list(world.accounts)) == 4
    world.verify(host="oauth2.googleapis.com", path="/token", status=200, times=1)
    world.verify(path="/token", times=1)


@pytest.mark.parametrize("number", range(4))
def test_cancel(world, backend, visit, number):
    world.order("google", "cancel")
    with pytest.raises(Refused, match="access_denied"):
        backend.finish(visit(backend.begin()))


@pytest.mark.parametrize("number", range(4))
def test_outage(world, backend, visit, number):
    world.fault(path="/token", status=503)
    world.order("google", "approve")
    with pytest.raises(Refused, match="503"):
        backend.finish(visit(backend.begin()))


@pytest.mark.parametrize("number", range(4))
def test_late(world, backend, visit, number):
    """An hour goes by in one world, and a code has expired there."""
    world.order("google", "approve")
    callback = visit(backend.begin())
    world.clock.advance("1h")
    with pytest.raises(Refused, match="invalid_grant"):
        backend.finish(callback)
    [refused] = world.requests(refused=True)
    assert "expired" in refused.diagnosis


@pytest.mark.parametrize("number", range(4))
def test_strange_signature(world, backend, visit, number):
    world.fault(path="/token", token={"signature": "invalid"})
    world.order("google", "approve")
    with pytest.raises(Refused, match="InvalidSignatureError"):
        backend.finish(visit(backend.begin()))
