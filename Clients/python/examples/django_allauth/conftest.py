"""Fixtures that give each test a world, to which the providers' real addresses lead. The site isn't changed for it."""

from pathlib import Path
from typing import Any, Callable, List

import pytest
from django.test import Client

from understudy_client import World


@pytest.fixture(scope="session")
def understudy_arguments() -> List[str]:
    return ["--seed", str(Path(__file__).parent / "seed.json"), "--proxy-port", "0"]


@pytest.fixture(autouse=True)
def providers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the proxy and the certificates in the environment. allauth uses requests, which reads them there."""
    for name, value in world.proxy_environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def client() -> Client:
    return Client(SERVER_NAME="localhost")


@pytest.fixture
def sign_in(client: Client, world: World) -> Callable[[str], Any]:
    """Returns a function that presses the site's button and signs in as ordered. It returns the site's last page."""

    def sign_in(provider: str) -> Any:
        begun = client.post(f"/accounts/{provider}/login/")
        callback = world.follow(begun["Location"])
        if callback.method == "POST":
            return client.post(callback.path, callback.form, follow=True)
        return client.get(callback.path, follow=True)

    return sign_in
