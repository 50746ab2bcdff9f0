"""The backend of each test is led to the world that the test has, in one of three ways."""

import os

import pytest

from backend import Backend

# How tests reach their worlds: by a path, by a port, or by the proxy's user name.
WAY = os.environ.get("WALK_WORLDS_BY", "path")


@pytest.fixture
def backend(world, monkeypatch):
    if WAY == "proxy":
        for variable, value in world.proxy_environment().items():
            monkeypatch.setenv(variable, value)
        # Nothing of it is told to the backend.
        return Backend()
    return Backend(f"{world.port_url if WAY == 'port' else world.url}/accounts.google.com")


@pytest.fixture
def visit(world):
    """Someone follows the backend's link, and comes back with what Google sends along."""
    return lambda url: world.follow(url).url
