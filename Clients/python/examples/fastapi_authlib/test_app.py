"""Tests of the app. Each test has a world in which the app finds Google and GitHub."""

from typing import Any, Callable

import pytest
from app import make_app
from fastapi.testclient import TestClient

from understudy_client import World


@pytest.fixture
def client(world: World) -> TestClient:
    app = make_app(
        google=world.host_url("accounts.google.com"),
        github=world.host_url("github.com"),
        github_api=world.host_url("api.github.com"),
    )
    # The clients of the seed have the callback http://localhost:3000/callback.
    return TestClient(app, base_url="http://localhost:3000")


@pytest.fixture
def sign_in(client: TestClient, world: World) -> Callable[[str], Any]:
    """Returns a function that presses the app's button and signs in as ordered. It returns the app's answer."""

    def sign_in(provider: str) -> Any:
        begun = client.get(f"/login/{provider}", follow_redirects=False)
        return client.get(world.follow(begun.headers["Location"]).url)

    return sign_in


@pytest.mark.parametrize("provider", ["google", "github"])
def test_sign_in(world: World, sign_in: Callable[[str], Any], provider: str) -> None:
    world.order(provider, "approve", account="grace")
    assert sign_in(provider).json() == {"email": "grace@example.com"}
    world.verify(refused=True, times=0)


@pytest.mark.parametrize("provider", ["google", "github"])
def test_somebody_cancels(
    client: TestClient, world: World, sign_in: Callable[[str], Any], provider: str
) -> None:
    world.order(provider, "cancel")
    assert sign_in(provider).json() == {"detail": "access_denied"}
    assert client.get("/me").status_code == 401


def test_the_code_is_redeemed_with_the_pkce_verifier(world: World, sign_in: Callable[[str], Any]) -> None:
    world.order("google", "approve")
    sign_in("google")
    [redemption] = world.requests(host="oauth2.googleapis.com", path="/token")
    assert redemption.request.form["code_verifier"]


@pytest.mark.parametrize(
    ("token", "error"),
    [
        ({"signature": "invalid"}, "bad_signature"),
        ({"claims": {"aud": "another"}}, "invalid_claim"),
        ({"claims": {"nonce": "another"}}, "invalid_claim"),
        ({"claims": {"exp": "-1h"}}, "expired_token"),
    ],
    ids=str,
)
def test_tokens_that_must_not_be_believed(
    client: TestClient, world: World, sign_in: Callable[[str], Any], token: "dict[str, Any]", error: str
) -> None:
    world.order("google", "approve")
    world.fault(path="/token", token=token)
    assert sign_in("google").json() == {"detail": error}
    assert client.get("/me").status_code == 401


def test_an_address_that_is_not_verified_is_not_taken(world: World, sign_in: Callable[[str], Any]) -> None:
    world.accounts.add("max", github={"emails": [{"email": "max@example.org", "primary": True, "verified": False}]})
    world.order("github", "approve", account="max")
    assert sign_in("github").json() == {"detail": "unverified_user_email"}
