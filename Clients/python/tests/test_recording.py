"""Tests of the recording and of expectations."""

from __future__ import annotations

import threading
import urllib.request

import pytest
from conftest import ask, redeem

from understudy_client import ControlError, Understudy, VerificationError, World

KEYS = "appleid.apple.com/auth/keys"


def test_requests_are_found_by_every_condition(world: World) -> None:
    ask(world.host_url(f"{KEYS}?a=b&c="))
    redeem(world, "unknown")
    first, second = world.requests()
    assert (first.host, first.path, first.method, first.status) == ("appleid.apple.com", "/auth/keys", "GET", 200)
    assert first.query == {"a": "b", "c": ""}
    assert "keys" in first.response.json
    assert first.diagnosis is None and not first.is_refused
    assert second.client == "example.apps.googleusercontent.com"
    assert second.request.form["code"] == "unknown"
    assert (second.response.header("content-type") or "").startswith("application/json")
    assert second.response.header("no-such-field") is None
    assert second.is_refused and second.diagnosis == second.response.header("Understudy-Diagnosis")
    assert "code" in second.request.text
    assert world.requests(host="appleid.*") == world.requests(path="/auth/*") == world.requests(method="get") == [first]
    assert world.requests(client=second.client) == world.requests(flow=second.flow) == [second]
    assert world.requests(status=400) == world.requests(status="4xx") == world.requests(refused=True) == [second]
    assert world.requests(refused=False) == world.requests(limit=1, after=None, status=200) == [first]
    assert world.requests(after=first.id) == world.requests(limit=1) == [second]
    assert world.refusals() == [second] and world.request(second.id) == second
    assert str(first) == f"{first.id} GET appleid.apple.com/auth/keys: 200"
    world.forget_requests()
    assert world.requests() == []


def test_a_body_that_is_no_text(world: World) -> None:
    body = bytes(range(256))
    request = urllib.request.Request(world.host_url("api.github.com/user"), body, {"Content-Type": "image/png"})
    with pytest.raises(OSError):
        urllib.request.urlopen(request)
    assert world.requests()[0].request.body == body


def test_from_where_an_answer_is_known(world: World) -> None:
    ask(world.host_url("appleid.apple.com/auth/keys"))
    [exchange] = world.requests()
    assert exchange.evidence is not None
    assert exchange.evidence.kind == "documented"
    assert exchange.evidence.source.startswith("https://developer.apple.com/")


def test_waiting_for_what_is_still_to_come(world: World) -> None:
    assert world.requests(wait="10ms") == []
    caller = threading.Timer(0.2, lambda: (ask(world.host_url(KEYS)), ask(world.host_url(KEYS))))
    caller.start()
    assert len(world.requests(path="/auth/keys", wait="30s", count=2)) == 2
    caller.join()


def test_all_pages_of_a_long_recording(world: World) -> None:
    body = b"x" * 250_000
    for _ in range(12):
        try:
            urllib.request.urlopen(world.host_url("api.github.com/user"), body).close()
        except OSError:
            pass
    assert len(world.requests()) == 12
    assert len(world.requests(limit=11)) == 11
    assert len(world.har()["log"]["entries"]) == 12


def test_verify_is_content_with_what_came(world: World) -> None:
    world.verify(host="appleid.apple.com", times=0)
    world.verify(at_most=0)
    redeem(world, "unknown")
    world.verify(host="oauth2.googleapis.com", path="/token", method="POST", fields={"code": "unknown"}, status=400)
    world.verify(path="/token", times=1, refused=True, client="example.apps.googleusercontent.com")
    world.verify(path="/token", at_least=1, at_most=2, flow=world.requests()[0].flow)


def test_verify_tells_what_came_in_place(world: World) -> None:
    with pytest.raises(VerificationError, match="no request came"):
        world.verify(path="/auth/token")
    ask(world.host_url(KEYS))
    redeem(world, "unknown")
    with pytest.raises(AssertionError) as raised:
        world.verify(path="/token", fields={"code": "known"}, times=2)
    text = str(raised.value)
    first, second = world.requests()
    assert 'expected exactly 2 of {"path":"/token","fields":{"code":"known"},"times":2}, found 0' in text
    assert f"came near: {second}\n    fields.code: expected known, was unknown\n" in text
    assert f"what came (2):\n  {first}\n  {second}\n      {second.diagnosis}" in text


def test_a_har_file(world: World) -> None:
    ask(world.host_url(KEYS))
    [entry] = world.har()["log"]["entries"]
    assert entry["request"]["url"] == "https://appleid.apple.com/auth/keys"


def test_refusals_outlive_their_world(understudy: Understudy, world: World) -> None:
    redeem(world, "unknown")
    world.delete()
    [refused] = understudy.requests(world.name, refused=True)
    assert (refused.world, refused.status) == (world.name, 400)
    assert refused.id in [one.id for one in understudy.requests()]


def test_sign_ins_are_values(world: World) -> None:
    redeem(world, "unknown")
    (failed,) = world.sign_ins(refused=True, wait="30s")
    assert failed.ending == "refused" and failed.providers == ("google",)
    assert failed.diagnosis == world.requests()[0].diagnosis and failed.stopped_by == failed.steps[-1].id
    assert failed.steps[-1].answer == "400 invalid_grant" and failed.account is None
    assert str(failed).startswith(f"{failed.id} Google ")
    assert world.sign_in(failed.id) == failed
    assert world.sign_ins(provider="apple") == world.sign_ins(after=failed.id) == []
    ask(world.host_url(KEYS))
    assert world.sign_ins() == [failed] and len(world.sign_ins(all=True)) == 2
    with pytest.raises(ControlError) as error:
        world.sign_in("r0")
    assert error.value.code == "noSuchFlow"
