"""Tests of worlds: addresses, people, seeds, tokens and snapshots."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List

import pytest
from conftest import CALLBACK, GOOGLE, ask, redeem

from understudy_client import ControlError, Understudy, World

CONFIGURATION = ".well-known/openid-configuration"


def test_every_address_leads_to_the_world(world: World) -> None:
    assert world.url.endswith(f"/~{world.name}")
    for base in (world.url, world.port_url, f"http://{world.firebase_emulator_host}"):
        status, text = ask(f"{base}/accounts.google.com/{CONFIGURATION}")
        assert status == 200
        assert json.loads(text)["token_endpoint"] == f"{base}/oauth2.googleapis.com/token"
    assert world.host_url("github.com") == f"{world.url}/github.com"
    assert len(world.requests(host="accounts.google.com")) == 3
    assert json.loads(ask(f"{world.control_url}/clock")[1])["frozen"] is False


class Route:
    """A stand-in for Playwright's route, with the methods that are used."""

    def __init__(self, url: str) -> None:
        self.request = type("", (), {"url": url})
        self.response = ""

    def fetch(self, url: str) -> str:
        return ask(url)[1]

    def fulfill(self, response: str) -> None:
        self.response = response


def test_scripts_of_a_page_lead_to_the_world(world: World) -> None:
    routes: List[Any] = []
    world.route_scripts(type("Page", (), {"route": lambda self, pattern, handler: routes.append((pattern, handler))})())
    (pattern, lead), = routes
    for script, host in [
        ("accounts.google.com/gsi/client", "accounts.google.com"),
        ("appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/de_DE/appleid.auth.js", "appleid.apple.com"),
        ("connect.facebook.net/de_DE/sdk.js", "www.facebook.com"),
    ]:
        assert pattern.search(f"https://{script}")
        route = Route(f"https://{script}")
        lead(route)
        assert f'("{world.host_url(host)}"' in route.response
    assert not pattern.search("https://accounts.google.com/o/oauth2/v2/auth")


def test_worlds_do_not_see_each_other(understudy: Understudy, world: World) -> None:
    with understudy.world(f"{world.name[:50]}-2") as other:
        other.accounts.add("zoe")
        assert "zoe" in other.accounts and "zoe" not in world.accounts
        assert other.name in [one["name"] for one in understudy.worlds()]
    assert other.name not in [one["name"] for one in understudy.worlds()]
    other.delete()


def test_a_subprocess_finds_the_world(world: World) -> None:
    variables = world.environment()
    assert variables["UNDERSTUDY_URL"] == world.url
    assert variables["GITHUB_API_URL"] == world.host_url("api.github.com")
    for name in ("APPLE_BASE_URL", "GITHUB_BASE_URL", "GOOGLE_BASE_URL", "FACEBOOK_BASE_URL", "FACEBOOK_GRAPH_URL"):
        assert ask(variables[name])[0] != 0
    assert len(world.requests()) >= 3
    script = """
import os, smtplib
from understudy_client import Understudy
understudy = Understudy.from_environment()
understudy.default.accounts.add("made-by-a-subprocess")
with smtplib.SMTP(os.environ["UNDERSTUDY_SMTP_HOST"], int(os.environ["UNDERSTUDY_SMTP_PORT"])) as client:
    client.sendmail("a@example.com", ["b@example.org"], "Subject: From a subprocess\\r\\n\\r\\nHi")
"""
    subprocess.run([sys.executable, "-c", script], env={**os.environ, **variables}, check=True)
    assert "made-by-a-subprocess" in world.accounts
    assert world.mail(wait="10s")[0].subject == "From a subprocess"


def test_people(world: World) -> None:
    assert [one["id"] for one in world.accounts] == ["ada", "grace", "linus"]
    added = world.accounts.add("max", email="max@example.org", emailVerified=False)
    assert world.accounts["max"] == added and added["emailVerified"] is False
    changed = world.accounts.change("max", {"name": {"given": "Maximilian"}, "email": None})
    assert (changed["name"]["given"], changed["email"]) == ("Maximilian", "max@example.com")
    world.accounts.remove("max")
    assert "max" not in world.accounts
    with pytest.raises(KeyError):
        world.accounts["max"]
    assert world.call("GET", "accounts/ada")["id"] == "ada"
    with pytest.raises(ControlError, match="ada") as raised:
        world.accounts.add("ada")
    assert (raised.value.status, raised.value.code, raised.value.path) == (409, "accountExists", "$.id")


def test_all_pages_of_many_people(world: World) -> None:
    world.seed({"accounts": [{"id": f"person-{number}"} for number in range(1_100)]})
    assert len(world.accounts.list()) == 1_103


def test_seeds_are_merged_and_replaced(world: World, google: Callable[..., str]) -> None:
    world.seed({"google": {"clients": [{"clientID": GOOGLE, "redirectURIs": ["https://shop.example/callback"]}]}})
    world.order("google", "approve")
    assert world.follow(google(redirect_uri="https://shop.example/callback")).url.startswith("https://shop.example/")
    world.replace_seed({"accounts": [{"id": "zoe"}]})
    assert [one["id"] for one in world.accounts] == ["zoe"]
    assert [one["id"] for one in world.current_seed()["accounts"]] == ["zoe"]
    with pytest.raises(ControlError) as raised:
        world.seed({"accounts": [{"id": "zoe", "email": 1}, {"name": {}}]})
    assert [issue.path for issue in raised.value.issues] == ["$.accounts[0].email", "$.accounts[1]"]
    assert "$.accounts[1]: " in str(raised.value)


def test_reset(world: World) -> None:
    world.accounts.add("max")
    world.reset()
    assert "max" not in world.accounts


def test_snapshots(world: World, understudy: Understudy, google: Callable[..., str]) -> None:
    world.order("google", "approve")
    code = world.follow(google()).fields["code"]
    snapshot = world.snapshot()
    assert redeem(world, code)[0] == 200
    assert redeem(world, code)[0] == 400
    world.restore(snapshot)
    assert redeem(world, code)[0] == 200
    with pytest.raises(ControlError) as raised:
        world.restore(b"{}")
    assert raised.value.code == "invalidSnapshot"


@pytest.mark.parametrize("provider, client", [("apple", "com.example.app"), ("google", GOOGLE)])
def test_minted_tokens(world: World, provider: str, client: str) -> None:
    minted = world.tokens.mint(provider, client, account="ada", nonce="n", scopes=["openid", "email"])
    assert (minted.claims["aud"], minted.claims["nonce"]) == (client, "n")
    assert str(minted) == minted.token
    assert world.explain(minted.token)["sound"] is True
    broken: Dict[str, Any] = {"claims": {"exp": "-1h", "nonce": None}, "header": {"kid": "other"}}
    expired = world.tokens.mint(provider, client, account="ada", nonce="n", signature="invalid", **broken)
    assert "nonce" not in expired.claims and expired.header["kid"] == "other"
    assert world.explain(expired.token)["sound"] is False


def test_explain_a_nonce(world: World) -> None:
    assert world.explain("n", raw_nonce="m")["kind"]


def test_a_token_is_revoked(world: World) -> None:
    token = world.google.authorize(GOOGLE, account="ada").access_token
    assert world.tokens.revoke(token) == {"provider": "google", "kind": "access token", "client": GOOGLE}
    with pytest.raises(ControlError) as raised:
        world.tokens.revoke(token)
    assert raised.value.code == "noSuchToken"


def test_native_sign_ins_with_google_and_facebook(world: World) -> None:
    google = world.google.authorize(GOOGLE, account="grace", nonce="n", scopes=["openid", "email"])
    assert google.server_auth_code is None
    popup = world.google.authorize(GOOGLE, account="grace", server_client=GOOGLE)
    assert popup.server_auth_code is not None and popup.server_auth_code.startswith("4/0A")
    assert google.id_token.count(".") == 2 and google.user_id and google.access_token
    told = world.google.send_security_event("account-disabled", client=GOOGLE, account="grace", reason="hijacking")
    assert told["delivered"] is False and "securityEventsURL" in told["failure"]
    facebook = world.facebook.authorize("1234567890", account="ada", scopes=["email"])
    assert facebook.access_token and facebook.authentication_token is None
    limited = world.facebook.authorize("1234567890", account="ada", nonce="n", tracking="limited")
    assert limited.authentication_token and limited.access_token is None
    assert limited.user_id == facebook.user_id == "10150000000000001"
    world.order("google", "cancel")
    with pytest.raises(ControlError) as raised:
        world.google.authorize(GOOGLE)
    assert raised.value.code == "canceled"


def test_people_remove_apps_and_sign_out(world: World) -> None:
    world.google.authorize(GOOGLE, account="ada")
    assert world.google.revoke(account="ada", client="*")["grants"] == 1
    assert world.facebook.revoke(account="*", client="1234567890")["grants"] == 0
    assert world.github.revoke(account="ada", client="*")["revoked"] is False
    assert world.openid.revoke(account="ada", client="*")["revoked"] is False
    assert "sessions" in str(world.github.log_out("ada"))
    assert "sessions" in str(world.openid.log_out("corp", "ada"))


def test_registered_clients_are_listed_and_removed(world: World) -> None:
    url = f"{world.url}/oidc/corp/register"
    for _ in range(2):
        body = json.dumps({"redirect_uris": ["http://127.0.0.1:4000/callback"]}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request).close()
    first, second = world.openid.clients()
    assert first["issuer"] == "corp" and first["metadata"]["redirect_uris"] == ["http://127.0.0.1:4000/callback"]
    world.openid.remove_clients(first["clientID"])
    assert world.openid.clients() == [second]
    world.openid.remove_clients()
    assert world.openid.clients() == []


def test_an_implicit_answer_is_in_the_fragment(world: World) -> None:
    world.order("openid", "approve", account="ada")
    query = {
        "client_id": "web",
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "response_mode": "fragment",
        "scope": "openid",
        "state": "s",
        "nonce": "n",
    }
    callback = world.follow(f"{world.url}/oidc/corp/authorize?{urllib.parse.urlencode(query)}")
    assert callback.fields["state"] == "s" and callback.fields["code"]
    assert callback.path == "/callback"
