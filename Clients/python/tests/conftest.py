"""Fixtures of the tests. The plugin's own fixtures start a daemon and give each test a world."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from typing import Callable, Dict, Optional, Tuple

import pytest

from understudy_client import World

pytest_plugins = ["pytester"]

GOOGLE = "example.apps.googleusercontent.com"
CALLBACK = "http://localhost:3000/callback"

Answer = Tuple[int, str]


def ask(url: str, form: Optional[Dict[str, str]] = None) -> Answer:
    """Sends a request to a URL, and returns the status and the text of the answer."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    try:
        answer = urllib.request.urlopen(url, data)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read().decode()


@pytest.fixture
def google(world: World) -> Callable[..., str]:
    """Returns a function that makes the address to which an app sends the browser to sign in with Google."""

    def url(**fields: str) -> str:
        query = {
            "client_id": GOOGLE,
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": "openid email",
            "state": "s",
            **fields,
        }
        return f"{world.host_url('accounts.google.com')}/o/oauth2/v2/auth?{urllib.parse.urlencode(query)}"

    return url


def redeem(world: World, code: str) -> Answer:
    """Redeems a code at Google's token endpoint, and returns the answer."""
    return ask(
        world.host_url("oauth2.googleapis.com/token"),
        {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": GOOGLE,
            "client_secret": "google-secret-for-tests",
        },
    )
