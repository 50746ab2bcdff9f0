"""The pytest plugin: a daemon for the run, a world for each test, and the refused requests in a failed test's
report."""

from __future__ import annotations

import json
import os
import uuid
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Generator, List, Optional, Union

import pytest

from .daemon import Understudy
from .errors import ControlError, UnderstudyError
from .names import world_name
from .orders import unmet_orders
from .recording import account, listed
from .values import JSONObject
from .world import World


@dataclass
class _Watched:
    """A test's world, and what is kept of it for the report when it has been deleted."""

    world: World
    is_deleted: bool = False
    account: str = ""
    har: Optional[JSONObject] = None
    has_failed: bool = False


_WATCHED = pytest.StashKey[_Watched]()
_RUN = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("understudy", "Understudy, a stand-in identity provider")
    group.addoption(
        "--understudy-binary",
        metavar="PATH",
        help="The program understudy, to start for this run, also where UNDERSTUDY_URL names a daemon. By default "
        "UNDERSTUDY_BINARY, else the one on the PATH.",
    )
    group.addoption(
        "--understudy-har",
        metavar="DIR",
        help="A folder for HTTP archives: what was said in the world of each test that failed.",
    )
    group.addoption(
        "--understudy-har-of",
        choices=["failed", "all"],
        default="failed",
        help="Which tests leave an HTTP archive. (default: failed)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # If pytest-xdist runs several workers, they all get the same ID of the run.
    config.stash[_RUN] = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex


@pytest.fixture(scope="session")
def understudy_arguments() -> List[str]:
    """The options of `understudy serve` with which the daemon starts. A conftest.py can override this fixture and
    return, for example, `["--seed", "tests/seed.json"]`."""
    return []


@pytest.fixture(scope="session")
def understudy(pytestconfig: pytest.Config, understudy_arguments: List[str]) -> Generator[Understudy, None, None]:
    """The daemon that UNDERSTUDY_URL names. If the variable isn't set, each worker starts a daemon for the run."""
    binary = pytestconfig.getoption("--understudy-binary")
    daemon = _found(binary, understudy_arguments)
    if isinstance(daemon, UnderstudyError):
        pytest.fail(str(daemon), pytrace=False)
    with daemon:
        yield daemon


def _found(binary: Optional[str], arguments: List[str]) -> Union[Understudy, UnderstudyError]:
    try:
        running = None if binary else Understudy.from_environment()
        if running is None:
            return Understudy.start(arguments, binary=binary)
        running.health()
    except UnderstudyError as error:
        return error
    return running


@pytest.fixture
def world(request: pytest.FixtureRequest, understudy: Understudy) -> Generator[World, None, None]:
    """A world of the test's own. It is made from the daemon's seed, and deleted after the test."""
    item = request.node
    parts = [item.name, os.environ.get("PYTEST_XDIST_WORKER", ""), item.nodeid]
    if not understudy.is_started:
        # The ID of the run keeps apart the worlds of runs that use the daemon at the same time.
        parts.append(request.config.stash[_RUN])
    world = understudy.world(world_name(" ".join(filter(None, parts))))
    world.delete()
    watched = item.stash[_WATCHED] = _Watched(world)
    yield world
    # The world is deleted below, so a later report needs what is kept here.
    watched.account = _account(world)
    if request.config.getoption("--understudy-har"):
        watched.har = _har(world)
    watched.is_deleted = True
    world.delete()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, "pytest.TestReport", None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    watched = item.stash.get(_WATCHED, None)
    if watched is None:
        return
    file = _har_file(item)
    if report.failed:
        watched.has_failed = True
        text = watched.account if watched.is_deleted else _account(watched.world)
        # If the test failed because one of its own calls was refused or not answered, its error already says why.
        is_told = call.excinfo is not None and type(call.excinfo.value) in (ControlError, UnderstudyError)
        lines = [] if is_told and not text.startswith("refused") else [text]
        lines += [f"its HTTP archive: {file}"] if file else []
        if lines:
            report.sections.append((f"Understudy, world {watched.world.name}", "\n".join(lines)))
    if report.when == "teardown" and file and watched.har is not None:
        if watched.has_failed or item.config.getoption("--understudy-har-of") == "all":
            _write(file, watched.har)


def _write(file: Path, har: JSONObject) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(har), encoding="utf-8")
    except OSError as error:
        warnings.warn(pytest.PytestWarning(f"the HTTP archive can't be written: {error}"), stacklevel=1)


def _har_file(item: pytest.Item) -> Optional[Path]:
    folder = item.config.getoption("--understudy-har")
    return item.config.invocation_params.dir / folder / f"{world_name(item.nodeid)}.har" if folder else None


def _account(world: World) -> str:
    """Lists the refused requests with their reasons, or all requests if none was refused, and the orders not met."""
    try:
        came = world.requests()
        unmet = [f"  {line}" for line in unmet_orders(world)]
    except UnderstudyError as error:
        return str(error)
    refused = [one for one in came if one.is_refused]
    if not came:
        lines = [f"no request came to {world.url}: was the code under test led there?"]
    elif not refused:
        lines = [f"nothing was refused; {account(came)}"]
    else:
        lines = [f"refused ({len(refused)} of {len(came)} requests):", *listed(refused)]
    return "\n".join([*lines, "ordered, and not met:", *unmet] if unmet else lines)


def _har(world: World) -> Optional[JSONObject]:
    try:
        return world.har()
    except UnderstudyError:
        return None
