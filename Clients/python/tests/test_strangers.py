"""Tests with a server that isn't a daemon, and with answers that break off."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from typing import Callable, Iterator, List, Tuple

import pytest

from understudy_client import ControlError, Understudy, UnderstudyError, _transport

TOKEN = "a-control-token-for-tests"


@contextlib.contextmanager
def stranger(*pieces: bytes, forever: bytes = b"") -> Iterator[Tuple[str, List[bytes]]]:
    """Starts a server that answers every request with these bytes, and then sends `forever` again and again. Yields its
    address and the requests that came."""
    came: List[bytes] = []
    stop = threading.Event()

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                if stop.is_set():
                    return
                came.append(whole_request(connection))
                connection.sendall(b"".join(pieces))
                while forever and not stop.wait(0.01):
                    connection.sendall(forever)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}", came
        finally:
            stop.set()
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join()


def whole_request(connection: socket.socket) -> bytes:
    """Reads a whole request. If a part of it stayed unread, closing the connection would reset it and lose the
    answer."""
    with connection.makefile("rb") as wire:
        head = b""
        while (line := wire.readline()) not in (b"\r\n", b""):
            head += line
        length = re.search(rb"(?i)^content-length: (\d+)", head, re.MULTILINE)
        return head + line + (wire.read(int(length[1])) if length else b"")


def answer(body: bytes, status: int = 200, header: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s" % (status, len(body), header, body)


CALLS: List[Callable[[Understudy], object]] = [
    lambda daemon: daemon.health(),
    lambda daemon: daemon.world("w").requests(),
    lambda daemon: daemon.world("w").order("apple", "cancel"),
    lambda daemon: daemon.world("w").apple.authorize("com.example.app"),
    lambda daemon: daemon.world("w").clock.now,
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("bytes_", "words"),
    [
        (answer(b"<html>hello</html>"), "isn't Understudy: <html>hello"),
        (answer(b"[1, 2]"), "isn't Understudy"),
        (answer(b'{"a": "\xff"}'), "isn't Understudy"),
        (answer(b""), "has no '"),
        (answer(b"{}"), "has no '"),
        (answer(b"boom", 500), "isn't Understudy: boom"),
        (answer(b'{"error": "boom"}', 500), "isn't Understudy"),
        (answer(b'{"error": {"code": "x", "faults": 1}}', 400), "isn't Understudy"),
        (answer(b"x" * 100_000, 502), "isn't Understudy: x{500}…$"),
        (answer(b'{"status":')[:-1], "broke off"),
        (b"\0\1garbage\r\n\r\n", "garbage"),
        (b"", "no Understudy answers at http://127.0.0.1:"),
    ],
    ids=str,
)
def test_an_answer_of_something_else(bytes_: bytes, words: str, call: Callable[[Understudy], object]) -> None:
    with stranger(bytes_) as (url, _):
        with pytest.raises(UnderstudyError, match=words) as raised:
            call(Understudy(url))
    if isinstance(raised.value, ControlError):
        assert raised.value.code == "unexpectedAnswer"


def test_a_redirect_gets_no_token() -> None:
    with stranger(answer(b"{}")) as (elsewhere, asked):
        location = f"Location: {elsewhere}/\r\n".encode()
        for status in (301, 302, 303, 307, 308):
            with stranger(answer(b"", status, location)) as (url, came):
                with pytest.raises(ControlError) as raised:
                    Understudy(url, control_token=TOKEN).worlds()
            assert (raised.value.status, raised.value.code) == (status, "unexpectedAnswer")
            assert f"Bearer {TOKEN}".encode() in came[0]
    assert asked == []


def test_an_answer_in_drops_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transport, "LIMIT", 0.2)
    with stranger(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", forever=b" ") as (url, _):
        with pytest.raises(UnderstudyError, match="wasn't whole after 0.2 seconds"):
            Understudy(url).worlds()
