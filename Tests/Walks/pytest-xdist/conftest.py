"""A world of its own for each test: other tests' people, orders, faults and time don't reach it."""

import json
import os
import re
import urllib.parse
import urllib.request

import pytest

from backend import Backend
from person import Person

DAEMON = os.environ["UNDERSTUDY_URL"]
# How tests reach their worlds: by a path, by a port, or by the proxy's user name.
WAY = os.environ.get("WALK_WORLDS_BY", "path")
# To the daemon, past any proxy.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class World:
    def __init__(self, name):
        self.name = name
        self.url = f"{DAEMON}/~{name}"

    def control(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_understudy/v1/{path}", data, method=method)
        with DIRECT.open(request) as answer:
            return json.load(answer)


@pytest.fixture
def world(request):
    # The same name in every run, so that a failed test's world can be looked up in the inspector.
    name = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60]
    world = World(name)
    world.control("reset", {})
    return world


@pytest.fixture
def backend(world, monkeypatch):
    if WAY == "proxy":
        # Python sends a proxy's user name only where there is a password, too; which one doesn't matter.
        proxy = urllib.parse.urlsplit(os.environ["UNDERSTUDY_PROXY_URL"])
        for variable in ["HTTPS_PROXY", "https_proxy"]:
            monkeypatch.setenv(variable, f"http://{world.name}:any@{proxy.hostname}:{proxy.port}")
        # Nothing of it is told to the backend.
        return Backend()
    if WAY == "port":
        url = world.control("worlds", {"name": world.name, "listen": 0})["url"]
        return Backend(f"{url}/accounts.google.com")
    return Backend(f"{world.url}/accounts.google.com")


@pytest.fixture
def visit(backend):
    """Someone follows the backend's link, and comes back with what Google sends along."""
    return lambda url: Person(elsewhere=["http://localhost:3000/callback"]).open(url)
