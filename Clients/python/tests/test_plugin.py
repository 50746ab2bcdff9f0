"""Tests of the pytest plugin, each in a separate run of pytest."""

from __future__ import annotations

import json
import os
import re
from typing import Iterator, List

import pytest

from understudy_client import Understudy, world_name

REFUSED = """
    import urllib.error
    import urllib.request

    def ask(world):
        try:
            urllib.request.urlopen(world.host_url("api.github.com/user"))
        except urllib.error.HTTPError:
            pass
"""


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each run start a daemon, unless its test uses another one."""
    monkeypatch.delenv("UNDERSTUDY_URL", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Understudy]:
    """Starts a daemon before the run of pytest, and names it in UNDERSTUDY_URL."""
    with Understudy.start() as understudy:
        monkeypatch.setenv("UNDERSTUDY_URL", understudy.url)
        yield understudy


def requested_worlds(understudy: Understudy) -> List[str]:
    return [one.world or "" for one in understudy.requests(refused=True)]


def test_each_test_has_a_fresh_world(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        worlds = set()

        @pytest.mark.parametrize("number", range(3))
        def test_it(world, understudy, number):
            assert understudy.is_started
            assert "max" not in world.accounts
            world.accounts.add("max")
            worlds.add(world.name)
            assert len(worlds) == number + 1
            assert len(understudy.worlds()) == 2

        def test_others_are_gone(understudy):
            assert [one["name"] for one in understudy.worlds()] == ["default"]
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=4)


def test_workers_share_a_running_daemon(pytester: pytest.Pytester, running: Understudy) -> None:
    pytester.makepyfile(
        f"""{REFUSED}
    import os
    import pytest

    @pytest.mark.parametrize("number", range(20))
    def test_it(world, understudy, number):
        assert understudy.url == {running.url!r}
        assert not understudy.is_started
        assert world.requests() == []
        ask(world)
        assert len(world.requests()) == 1
        assert world.name.startswith(f"test-it-{{number}}-{{os.environ['PYTEST_XDIST_WORKER']}}-")
    """
    )
    for _ in range(2):
        pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=20)
    assert len(set(requested_worlds(running))) == len(requested_worlds(running)) == 40
    assert [one["name"] for one in running.worlds()] == ["default"]


def test_workers_start_daemons(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_it(world, understudy, number):
            assert understudy.is_started
            assert world.requests() == []
        """
    )
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=8)


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_a_failed_test_tells_what_was_refused(pytester: pytest.Pytester, workers: List[str]) -> None:
    pytester.makepyfile(
        f"""{REFUSED}
    def test_it(world):
        ask(world)
        assert world.url == "another"
    """
    )
    result = pytester.runpytest_subprocess(*workers)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(
        [
            r"-+ Understudy, world test-it-.* -+",
            r"refused \(1 of 1 requests\):",
            r"  r\d+ GET api.github.com/user: 40\d",
            r"      .*User-Agent|.*Authorization",
        ]
    )


def test_a_failed_test_tells_what_came_when_nothing_was_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import urllib.request

        def test_silent(world):
            assert False

        def test_unexpected(world):
            urllib.request.urlopen(world.host_url("appleid.apple.com/auth/keys"))
            world.verify(path="/auth/token")

        def test_without_a_world():
            assert False
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "no request came to *: was the code under test led there?",
            "E *VerificationError: expected at least 1 of *",
            "E *GET appleid.apple.com/auth/keys: 200",
            "nothing was refused; what came (1):",
        ]
    )
    assert result.stdout.str().count("- Understudy, world ") == 2


def test_a_failed_test_tells_which_orders_nothing_met(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(world):
            world.order("apple", "approve", account="ada", client="com.example.web")
            world.fault(path="/auth/token", status=503)
            assert False
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "ordered, and not met:",
            '  fault-1 met no request that matches {"path": "/auth/token"}',
            "  outcome-1, approve at apple by ada for client com.example.web, still waits for a sign-in (times: 1)",
        ]
    )


def test_what_happens_in_fixtures_is_told_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""{REFUSED}
    import pytest

    @pytest.fixture
    def broken(world):
        ask(world)
        raise ValueError

    @pytest.fixture
    def breaking(world):
        yield
        ask(world)
        raise ValueError

    def test_setup(broken):
        pass

    def test_teardown(breaking):
        pass
    """
    )
    result = pytester.runpytest_subprocess("--understudy-har=har")
    result.assert_outcomes(passed=1, errors=2)
    assert result.stdout.str().count("refused (1 of 1 requests):") == 2
    assert len(list((pytester.path / "har").iterdir())) == 2


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize("which", ["failed", "all"])
def test_http_archives(pytester: pytest.Pytester, which: str, workers: List[str]) -> None:
    pytester.makepyfile(
        f"""{REFUSED}
    def test_good(world):
        ask(world)

    def test_bad(world):
        ask(world)
        assert False
    """
    )
    folder = pytester.path / "a" / "har"
    result = pytester.runpytest_subprocess("--understudy-har=a/har", f"--understudy-har-of={which}", *workers)
    result.assert_outcomes(passed=1, failed=1)
    file = "test_http_archives.py"
    names = {test: f"{world_name(f'{file}::{test}')}.har" for test in ("test_good", "test_bad")}
    wanted = set(names.values()) if which == "all" else {names["test_bad"]}
    assert {path.name for path in folder.iterdir()} == wanted
    archive = json.loads((folder / names["test_bad"]).read_text())
    assert [entry["request"]["url"] for entry in archive["log"]["entries"]] == ["https://api.github.com/user"]
    result.stdout.fnmatch_lines([f"its HTTP archive: {folder / names['test_bad']}"])


def test_a_daemon_is_started_as_the_project_says(pytester: pytest.Pytester, running: Understudy) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def understudy_arguments(pytestconfig):
            return ["--seed", str(pytestconfig.rootpath / "seed.json")]
        """
    )
    (pytester.path / "seed.json").write_text('{"accounts": [{"id": "zoe"}]}')
    pytester.makepyfile(
        """
        def test_it(world):
            assert [one["id"] for one in world.accounts] == ["zoe"]
        """
    )
    binary = os.environ["UNDERSTUDY_BINARY"]
    pytester.runpytest_subprocess(f"--understudy-binary={binary}").assert_outcomes(passed=1)
    # The running daemon has another seed.
    pytester.runpytest_subprocess().assert_outcomes(failed=1)


def test_a_run_without_a_daemon_says_what_to_do(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile("def test_it(world):\n    pass\n")
    result = pytester.runpytest_subprocess("--understudy-binary=/nowhere/understudy")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the program understudy isn't found: install it, *"])
    monkeypatch.setenv("UNDERSTUDY_URL", "http://127.0.0.1:1")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["no Understudy answers at http://127.0.0.1:1: *"])


def test_a_run_without_worlds_needs_no_daemon(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_BINARY", "/nowhere/understudy")
    pytester.makepyfile("def test_it():\n    pass\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert not re.search("understudy-client.*error", result.stdout.str())


def test_a_refused_call_is_told_without_the_package_s_source(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(world):
            world.order("apple", "cancle")
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['E *ControlError: POST outcomes was refused with 400 *; did you mean "cancel"?'])
    shown = result.stdout.str()
    assert "_transport.json" not in shown and "- Understudy, world" not in shown


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_an_archive_that_cannot_be_written_ends_nothing(pytester: pytest.Pytester, place: str) -> None:
    (pytester.path / "file").touch()
    pytester.makepyfile("def test_one(world):\n    assert False\n\ndef test_two(world):\n    pass\n")
    result = pytester.runpytest_subprocess(f"--understudy-har={place}")
    result.assert_outcomes(failed=1, passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*the HTTP archive can't be written: *"])


def test_an_environment_that_cannot_be_used_is_told(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile("def test_it(world):\n    pass\n")
    monkeypatch.setenv("UNDERSTUDY_URL", "localhost:9099")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'localhost:9099' isn't a daemon's address: *"])
    assert "Traceback" not in result.stdout.str() and "daemon.py" not in result.stdout.str()


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_worlds_are_deleted_when_a_run_is_interrupted(
    pytester: pytest.Pytester, running: Understudy, workers: List[str]
) -> None:
    pytester.makepyfile(
        """
        def test_it(world):
            world.accounts.add("max")
            raise KeyboardInterrupt
        """
    )
    pytester.runpytest_subprocess(*workers)
    assert [one["name"] for one in running.worlds()] == ["default"]
