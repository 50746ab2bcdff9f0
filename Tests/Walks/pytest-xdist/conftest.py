"""The backend of each test is led to the world that the test has, in one of three ways."""

import os

import pytest

from backend import Backend

# Tests reach their worlds in three ways: by a path, by a port, or by the proxy's user name.
WAY = os.environ.get("WALK_WORLDS_BY", "path")


@pytest.fixture
def backend(world, monkeypatch):
    if WAY == "proxy":
        for variable, value in world.proxy_environment().items():
            monkeypatch.setenv(variable, value)
        # The backend's settings don't change in this case.
        return Backend()
    return Backend(f"{world.port_url if WAY == 'port' else world.url}/accounts.google.com")


@pytest.fixture
def visit(world):
    """Follows the backend's link, and returns the parameters with which Google sends the browser back."""
    return lambda url: world.follow(url).url
