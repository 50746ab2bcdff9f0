"""Tests of daemons that already run, and of daemons that are started."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ask

from understudy_client import ControlError, DaemonError, Understudy, UnderstudyError, __version__, world_name

TOKEN = "a-control-token-for-tests"


def answers(url: str) -> bool:
    try:
        ask(url)
    except OSError:
        return False
    return True


def test_a_started_daemon_ends_with_its_block(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"accounts": [{"id": "zoe"}]}')
    with Understudy.start(["--seed", str(seed)]) as understudy:
        assert understudy.is_started
        assert understudy.version == __version__
        assert understudy.health()["status"] == "ok"
        assert [one["id"] for one in understudy.default.accounts] == ["zoe"]
        understudy.default.accounts.add("max")
        understudy.default.delete()
        assert "max" not in understudy.default.accounts
    assert not understudy.is_started
    assert not answers(understudy.url)
    with pytest.raises(UnderstudyError, match="no Understudy answers at"):
        understudy.health()


def test_a_started_daemon_ends_with_a_process_that_is_killed() -> None:
    script = "from understudy_client import Understudy; print(Understudy.start().url, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        assert answers(url)
        owner.send_signal(signal.SIGKILL)
        for _ in range(200):
            if not answers(url):
                break
            time.sleep(0.05)
        else:
            pytest.fail("the daemon still answers")


def test_a_daemon_with_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Understudy.start(["--control-token", TOKEN, "--proxy-port", "0"]) as understudy:
        assert understudy.control_token == TOKEN
        world = understudy.world("w")
        assert world.accounts.list()
        variables = world.environment()
        assert variables["UNDERSTUDY_CONTROL_TOKEN"] == TOKEN
        assert variables["UNDERSTUDY_PROXY_URL"] == world.proxy_url
        assert (world.proxy_url or "").startswith("http://w:any@")
        with pytest.raises(ControlError) as raised:
            Understudy(understudy.url).worlds()
        assert (raised.value.status, raised.value.code) == (401, "noToken")

        monkeypatch.setenv("UNDERSTUDY_URL", understudy.url)
        file = tmp_path / "token"
        file.write_text(f"{TOKEN}\n")
        monkeypatch.setenv("UNDERSTUDY_CONTROL_TOKEN_FILE", str(file))
        found = Understudy.from_environment()
        assert found is not None and not found.is_started
        assert found.worlds()
        found.close()
        assert found.worlds()


def test_a_sign_in_by_the_proxy() -> None:
    with Understudy.start(["--proxy-port", "0"]) as understudy:
        world = understudy.world("w")
        world.order("google", "approve")
        callback = world.follow(
            "https://accounts.google.com/o/oauth2/v2/auth?client_id=example.apps.googleusercontent.com"
            "&redirect_uri=http://localhost:3000/callback&response_type=code&scope=openid&state=s"
        )
        assert callback.fields["state"] == "s"
        assert world.requests(host="accounts.google.com") and not understudy.default.requests()
        # Programs that know nothing of Understudy use the proxy, too.
        program = "import urllib.request; urllib.request.urlopen('https://appleid.apple.com/auth/keys')"
        subprocess.run([sys.executable, "-c", program], env={**os.environ, **world.proxy_environment()}, check=True)
        world.verify(host="appleid.apple.com", path="/auth/keys", times=1)


def test_a_default_world_of_another_name() -> None:
    with Understudy.start(["--world", "w1"]) as understudy:
        assert understudy.default.name == "w1"
        understudy.default.accounts.add("max")
        assert b"max" in understudy.world("w1").snapshot()
        assert ask(f"{understudy.default.port_url}/_understudy/v1/accounts/max")[0] == 200


def test_a_daemon_without_mail() -> None:
    program = os.environ["UNDERSTUDY_BINARY"]
    options = {name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")}
    with subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True, env=options) as daemon:
        assert daemon.stdout is not None
        world = Understudy(daemon.stdout.readline().split()[-1]).world("w")
        variables = world.environment()
        daemon.terminate()
    assert variables["FIREBASE_AUTH_EMULATOR_HOST"] and "UNDERSTUDY_SMTP_PORT" not in variables


def test_what_is_no_daemon() -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404, "nothing of the kind")

        def log_message(self, format: str, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ControlError, match="nothing of the kind") as raised:
            Understudy(f"http://127.0.0.1:{server.server_port}").health()
        thread.join()
    assert (raised.value.status, raised.value.code, raised.value.path) == (404, "unexpectedAnswer", None)


def test_without_a_proxy() -> None:
    world = Understudy("http://localhost:1").world("w")
    assert world.proxy_url is None
    with pytest.raises(UnderstudyError, match="--proxy-port"):
        world.proxy_environment()


def test_one_daemon_beside_another(monkeypatch: pytest.MonkeyPatch, understudy: Understudy) -> None:
    for name, value in understudy.world("w").environment().items():
        monkeypatch.setenv(name, value)
    with Understudy.start() as other:
        assert other.url != understudy.url
        assert other.world("w").smtp() != understudy.world("w").smtp()


def test_no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UNDERSTUDY_URL", raising=False)
    assert Understudy.from_environment() is None
    with pytest.raises(DaemonError, match="isn't found"):
        Understudy.start(binary=tmp_path / "nothing")
    with pytest.raises(DaemonError, match="no-such-seed.json"):
        Understudy.start(["--seed", "no-such-seed.json"])
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("UNDERSTUDY_BINARY", raising=False)
    with pytest.raises(DaemonError, match="UNDERSTUDY_BINARY"):
        Understudy.start()


def test_addresses(understudy: Understudy) -> None:
    assert Understudy(f"{understudy.url}/").url == understudy.url
    assert Understudy(f"{understudy.url}/~w").default.url == f"{understudy.url}/~w"
    assert Understudy(f" {understudy.url}//\n").url == understudy.url
    assert Understudy("http://[::1]:9099/~w/").default.url == "http://[::1]:9099/~w"
    address = understudy.url.partition("//")[2]
    for wrong in (
        *(f"{understudy.url}{end}" for end in ("/a", "/~w/b", "/~a b", "?a", "/#a", "/~w?a")),
        *("", "http://", "http://localhost:port", "file:///etc", address, f"http://user:word@{address}"),
    ):
        with pytest.raises(ValueError, match="isn't a daemon's address"):
            Understudy(wrong)
    for token in ("a\nb", "ü", " "):
        with pytest.raises(ValueError, match="token"):
            Understudy(understudy.url, control_token=token)
    assert understudy.url in repr(understudy) and "/~w" in repr(understudy.world("w"))


def test_any_text_names_a_world(understudy: Understudy) -> None:
    for text in ("tests/test_login.py::test_it[ü]", "a b", "", "a" * 65, "a/b?c#d", "日本"):
        with understudy.world(text) as world:
            assert world.name == world_name(text)
            assert world.accounts.list()
    assert understudy.world("A.b_c-9").name == "A.b_c-9"
    assert understudy.world() is understudy.default


def test_an_environment_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNDERSTUDY_URL", "localhost:9099")
    with pytest.raises(DaemonError, match="'localhost:9099' isn't a daemon's address"):
        Understudy.from_environment()
    monkeypatch.setenv("UNDERSTUDY_URL", "http://localhost:9099")
    monkeypatch.delenv("UNDERSTUDY_CONTROL_TOKEN", raising=False)
    for file in (tmp_path, tmp_path / "nothing"):
        monkeypatch.setenv("UNDERSTUDY_CONTROL_TOKEN_FILE", str(file))
        with pytest.raises(DaemonError, match="UNDERSTUDY_CONTROL_TOKEN_FILE"):
            Understudy.from_environment()
    monkeypatch.setenv("UNDERSTUDY_CONTROL_TOKEN", f" {TOKEN}\n")
    found = Understudy.from_environment()
    assert found is not None and found.control_token == TOKEN


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("#!/bin/sh\necho what; exec cat\n", "it says 'what'"),
        ("#!/bin/sh\necho why >&2; exit 3\n", "doesn't start: why"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\nkill -SEGV $$\n", "exit code -11"),
        ("garbage", "can't be run: Exec format error"),
    ],
)
def test_a_program_that_is_no_daemon(tmp_path: Path, program: str, words: str) -> None:
    binary = tmp_path / "understudy"
    binary.write_text(program)
    binary.chmod(0o755)
    with pytest.raises(DaemonError, match=words):
        Understudy.start(binary=binary)


def test_a_daemon_that_has_died_says_so() -> None:
    with Understudy.start() as understudy:
        world = understudy.world("w")
        process = understudy._process
        assert process is not None
        process.kill()
        process.wait()
        with pytest.raises(UnderstudyError, match="it was started here, and has ended with exit code -9"):
            world.accounts.list()


def test_recordings_of_all_worlds_are_forgotten() -> None:
    with Understudy.start() as understudy:
        for name in ("one", "two"):
            ask(understudy.world(name).host_url("api.github.com/user"))
        understudy.forget_requests("on*")
        assert [one.world for one in understudy.requests()] == ["two"]
        understudy.forget_requests()
        assert understudy.requests() == []


@pytest.mark.parametrize(
    "text",
    ["checkout", "default", "", "tests/test_login.py::test_google[chrome]", "Ünïcode İK", "a" * 64, "-a--b-", "日本"],
)
def test_names_of_worlds_are_those_of_the_program(text: str) -> None:
    program = os.environ["UNDERSTUDY_BINARY"]
    printed = subprocess.run([program, "world-name", "--", text], capture_output=True, text=True, check=True).stdout
    assert world_name(text) == printed.strip()
