"""Tests of outcomes, faults, scenarios and the clock."""

from __future__ import annotations

import json
import re
import socket
import time
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict

import pytest
from conftest import ask, redeem

from understudy_client import ControlError, PageError, UnderstudyError, World

KEYS = "appleid.apple.com/auth/keys"


def test_an_approval_signs_the_account_in(world: World, google: Callable[..., str]) -> None:
    world.order("google", "approve", account="grace")
    callback = world.follow(google())
    assert callback.method == "GET"
    assert callback.fields["state"] == "s"
    assert callback.path.startswith("/callback?")
    status, text = redeem(world, callback.fields["code"])
    assert status == 200
    assert "id_token" in json.loads(text)
    [token] = world.requests(path="/token")[0].tokens
    assert token.claims["email"] == "grace@example.com"
    assert token.signed


def test_a_cancel_and_an_error(world: World, google: Callable[..., str]) -> None:
    world.order("google", "cancel")
    world.order("google", "error", error="server_error")
    assert world.follow(google()).fields["error"] == "access_denied"
    assert world.follow(google()).fields["error"] == "server_error"


def test_without_an_order_the_page_asks(world: World, google: Callable[..., str]) -> None:
    with pytest.raises(PageError, match="Order what they do") as raised:
        world.follow(google())
    assert raised.value.status == 200
    with pytest.raises(PageError, match="redirect_uri") as raised:
        world.follow(google(redirect_uri="http://localhost:3000/other"))
    assert raised.value.diagnosis


def test_a_posted_answer(world: World) -> None:
    world.order("apple", "approve", account="ada", share_email=False, name={"given": "A.", "family": "L."})
    callback = world.follow(
        world.host_url("appleid.apple.com/auth/authorize")
        + "?client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=code&scope=name%20email"
        "&response_mode=form_post&state=s"
    )
    assert (callback.method, callback.url) == ("POST", "https://example.com/callback")
    user = json.loads(callback.form["user"])
    assert user["name"] == {"firstName": "A.", "lastName": "L."}
    assert user["email"].endswith("@privaterelay.appleid.com")


def test_a_page_is_told_with_the_order_that_avoids_it(world: World) -> None:
    query = "client_id=Iv1.0123456789abcdef&redirect_uri=http://localhost:3000/callback"
    with pytest.raises(PageError, match=re.escape('world.order("github", "approve"')):
        world.follow(f"{world.host_url('github.com')}/login/oauth/authorize?{query}")


def test_a_page_is_told_with_the_orders_that_are_for_others(world: World) -> None:
    world.order("github", "approve", client="Iv23liGitHubApp00001")
    query = "client_id=Iv1.0123456789abcdef&redirect_uri=http://localhost:3000/callback"
    with pytest.raises(PageError, match="for client Iv23liGitHubApp00001") as raised:
        world.follow(f"{world.host_url('github.com')}/login/oauth/authorize?{query}")
    assert "no outcome that waits is for this sign-in, which Iv1.0123456789abcdef has begun" in str(raised.value)


def test_a_played_host_is_known_without_dns(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def offline(host: Any, *rest: Any, **more: Any) -> Any:
        if str(host).endswith((".com", ".example")):
            raise socket.gaierror(-2, "Name or service not known")
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    for host in ["appleid.apple.com", "demo-app.firebaseapp.com", "login.corp.example"]:
        with pytest.raises(UnderstudyError, match=f"leads to the real {re.escape(host)}, not to http://"):
            world.follow(f"https://{host}/x")
    with pytest.raises(UnderstudyError, match="nobody answers at https://nobody.example/"):
        world.follow("https://nobody.example/")


def test_an_app_that_leads_to_the_real_provider(world: World) -> None:
    with pytest.raises(UnderstudyError, match="leads to the real 8.8.8.8, not to http://.*/8.8.8.8"):
        world.follow("https://8.8.8.8/o/oauth2/v2/auth")
    with pytest.raises(UnderstudyError, match="nobody answers at http://127.0.0.1:1/: "):
        world.follow("http://127.0.0.1:1/")
    with pytest.raises(ValueError, match="isn't an address"):
        world.follow("/login")


def test_orders_wait_and_are_withdrawn(world: World) -> None:
    cancel = world.order("github", "cancel", client="Iv1.0123456789abcdef", scopes=["read:user"], times=None)
    assert [one.id for one in world.outcomes()] == [cancel.id]
    assert cancel.document["times"] is None
    assert cancel.remove()
    assert not cancel.remove()
    with world.order("github", "cancel"), world.fault(status=500):
        assert len(world.outcomes()) == len(world.faults()) == 1
    assert world.outcomes() == world.faults() == []
    world.order("github", "cancel")
    world.fault(status=500)
    world.remove_outcomes()
    world.remove_faults()
    assert world.outcomes() == world.faults() == []


def test_a_status_with_a_header_and_a_body(world: World) -> None:
    world.fault(host="appleid.apple.com", path="/auth/keys", status=503, headers={"Retry-After": "7"}, body="later")
    assert ask(world.host_url(KEYS)) == (503, "later")
    [broken] = world.requests(path="/auth/keys")
    assert broken.response.header("retry-after") == "7"
    assert broken.fault
    assert ask(world.host_url(KEYS))[0] == 200


def test_after_and_times(world: World) -> None:
    world.fault(path="/auth/keys", method="GET", status=500, after=1, times=2)
    assert [ask(world.host_url(KEYS))[0] for _ in range(4)] == [200, 500, 500, 200]
    fault = world.fault(path="/auth/keys", status=500, times=None, probability=1.0)
    assert [ask(world.host_url(KEYS))[0] for _ in range(3)] == [500] * 3
    assert world.faults()[0].document["done"] == 3
    fault.remove()
    assert ask(world.host_url(KEYS))[0] == 200


def test_the_endpoints_own_error(world: World) -> None:
    world.fault(
        path="/token",
        fields={"grant_type": "authorization_code"},
        client="example.apps.googleusercontent.com",
        error="invalid_grant",
        description="as ordered",
    )
    status, text = redeem(world, "any")
    assert status == 400
    assert json.loads(text) == {"error": "invalid_grant", "error_description": "as ordered"}


@pytest.mark.parametrize("delay", ["300ms", timedelta(milliseconds=300)])
def test_a_delay(world: World, delay: Any) -> None:
    world.fault(path="/auth/keys", delay=delay)
    begun = time.monotonic()
    assert ask(world.host_url(KEYS))[0] == 200
    assert time.monotonic() - begun >= 0.3


def test_a_disconnection(world: World) -> None:
    world.fault(path="/auth/keys", disconnect=True)
    with pytest.raises(OSError):
        ask(world.host_url(KEYS))


def test_a_broken_token(world: World) -> None:
    world.fault(match={"path": "*apple/authorizations"}, token={"claims": {"aud": "other"}, "signature": "none"})
    broken = world.apple.authorize("com.example.app", account="ada")
    sound = world.apple.authorize("com.example.app", account="ada")
    assert world.explain(broken.identity_token)["sound"] is False
    assert world.explain(sound.identity_token)["sound"] is True


def test_members_of_an_answer(world: World) -> None:
    world.fault(path="/auth/keys", response={"keys": None, "more": 1})
    assert json.loads(ask(world.host_url(KEYS))[1]) == {"more": 1}
    [exchange] = world.requests()
    assert not exchange.is_refused
    assert "fault-1" in (exchange.note or "")


def test_other_effects(world: World) -> None:
    world.fault(path="/auth/keys", effect={"jwks": "empty"})
    assert json.loads(ask(world.host_url(KEYS))[1]) == {"keys": []}


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ({"path": "/auth/keys", "error": "invalid_grant"}, "$.effect.error"),
        ({"path": "/auth/keys", "delay": "soon"}, "$.effect.delay"),
        ({"path": "/auth/keys"}, "$.effect"),
    ],
)
def test_what_does_not_fit_is_refused(world: World, order: Dict[str, Any], path: str) -> None:
    with pytest.raises(ControlError) as raised:
        world.fault(**order)
    error = raised.value
    assert (error.status, error.code, error.path) == (400, "invalidBody", path)
    assert error.issues[0].path == path
    assert error.call == "POST faults"
    assert error.message in str(error)


def test_a_scenario(world: World) -> None:
    assert "advice" in world.scenarios.play("provider-outage", host="appleid.apple.com")
    assert ask(world.host_url(KEYS))[0] == 503
    assert [one["name"] for one in world.scenarios.list() if one["played"]] == ["provider-outage"]
    assert "host" in world.scenarios.get("provider-outage")["parameters"]
    assert world.scenarios.end("provider-outage")
    assert not world.scenarios.end("provider-outage")
    assert ask(world.host_url(KEYS))[0] == 200
    with pytest.raises(ControlError, match="provider-outage") as raised:
        world.scenarios.play("provider-outages")
    assert raised.value.code == "noSuchScenario"


def test_the_clock(world: World) -> None:
    clock = world.clock
    assert abs(clock.now - datetime.now(timezone.utc)) < timedelta(minutes=1)
    moment = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    clock.freeze()
    assert clock.is_frozen
    assert clock.set(moment) == clock.now == moment
    assert clock.advance("6m") == moment + timedelta(minutes=6)
    assert clock.advance(timedelta(hours=1, milliseconds=1)) == moment + timedelta(hours=1, minutes=6, milliseconds=1)
    assert clock.advance("-1h") == clock.advance(timedelta(hours=-1)) + timedelta(hours=1)
    assert clock.set("2031-01-01T00:00:00Z") == datetime(2031, 1, 1, tzinfo=timezone.utc)
    assert clock.freeze("2032-01-01T00:00:00Z") == clock.now == datetime(2032, 1, 1, tzinfo=timezone.utc)
    clock.unfreeze()
    assert not clock.is_frozen
    assert abs(clock.reset() - datetime.now(timezone.utc)) < timedelta(minutes=1)
    with pytest.raises(ValueError, match="time zone"):
        clock.set(datetime(2030, 1, 1))


def test_a_code_expires_by_the_clock(world: World, google: Callable[..., str]) -> None:
    world.order("google", "approve")
    code = world.follow(google()).fields["code"]
    world.clock.advance("1h")
    assert redeem(world, code)[0] == 400
    [refused] = world.requests(refused=True)
    assert "expired" in (refused.diagnosis or "")
