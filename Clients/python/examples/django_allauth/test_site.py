"""Tests of the site."""

import copy
from typing import Any, Callable

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from understudy_client import World

pytestmark = pytest.mark.django_db
SignIn = Callable[[str], Any]


@pytest.mark.parametrize("provider", ["apple", "github", "google"])
def test_sign_in(world: World, sign_in: SignIn, provider: str) -> None:
    world.order(provider, "approve", account="grace")
    page = sign_in(provider)
    assert page.json()["email"] == "grace@example.com"
    assert SocialAccount.objects.get().provider == provider
    world.verify(refused=True, times=0)


@pytest.mark.parametrize("provider", ["apple", "github", "google"])
def test_somebody_cancels(client: Client, world: World, sign_in: SignIn, provider: str) -> None:
    world.order(provider, "cancel")
    sign_in(provider)
    assert client.get("/").json()["email"] is None
    assert not SocialAccount.objects.exists()


def test_somebody_hides_the_address_and_the_name_comes_once(client: Client, world: World, sign_in: SignIn) -> None:
    world.order("apple", "approve", account="ada", share_email=False, times=2)
    first = sign_in("apple").json()
    assert first["email"].endswith("@privaterelay.appleid.com")
    assert first["name"] == "Ada Lovelace"
    client.logout()
    # Apple sends the name only at the first sign-in, so the site has stored it.
    assert sign_in("apple").json() == first
    assert SocialAccount.objects.count() == 1


def test_google_is_down(client: Client, world: World, sign_in: SignIn) -> None:
    world.order("google", "approve")
    world.fault(host="oauth2.googleapis.com", path="/token", status=503, times=None)
    assert "Third-Party Login Failure" in sign_in("google").content.decode()
    assert client.get("/").json()["email"] is None


def test_a_secret_of_yesterday(world: World, sign_in: SignIn, settings: Any) -> None:
    """Checks that the recording says why a sign-in failed. The site says only that it did."""
    settings.SOCIALACCOUNT_PROVIDERS = copy.deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
    settings.SOCIALACCOUNT_PROVIDERS["github"]["APP"]["secret"] = "github-secret-of-yesterday"
    world.order("github", "approve")
    assert "Third-Party Login Failure" in sign_in("github").content.decode()
    [refused] = world.requests(refused=True)
    assert refused.path == "/login/oauth/access_token"
    assert "client_secret" in (refused.diagnosis or "")
