"""HTTP over plain sockets: many requests at once on a kept connection, and bytes that are no HTTP."""
import select
import socket
import time


class Closed(Exception):
    """An error that says that the connection ended before the answer did."""


class Silent(Exception):
    """An error that says that no answer came within the time limit."""


class Answer:
    __slots__ = ("status", "head", "body")

    def __init__(self, status, head, body):
        self.status, self.head, self.body = status, head, body

    def values(self, name):
        """Returns all values of a header, whose name is in lower case."""
        start = b"\r\n" + name + b":"
        lower = self.head.lower()
        found, place = [], lower.find(start)
        while place >= 0:
            end = self.head.find(b"\r\n", place + 2)
            value = self.head[place + len(start) : end if end >= 0 else len(self.head)]
            found.append(value.strip().decode("latin-1"))
            place = lower.find(start, place + 2)
        return found

    def header(self, name):
        values = self.values(name)
        return values[0] if values else None


class Connection:
    """A connection to a daemon on a loopback port. It is opened again when needed."""

    def __init__(self, port, patience=20):
        self.port, self.patience = port, patience
        self.socket, self.buffer = None, b""

    def open(self):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=self.patience)
            self.socket.setblocking(False)
            self.buffer = b""

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket, self.buffer = None, b""

    def exchange(self, requests, heads=()):
        """Sends all requests, and yields the answers one by one. `heads` are the places of those whose answer has no body."""
        self.open()
        waiting = memoryview(b"".join(requests))
        for place in range(len(requests)):
            while True:
                answer = self._take(place in heads)
                if answer is not None:
                    break
                waiting = self._turn(waiting)
            yield answer

    def rest(self, data, seconds):
        """Sends bytes, and returns what comes back until the end, or until nothing has come for some time."""
        self.open()
        waiting, end = memoryview(data), time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                size = len(self.buffer)
                waiting = self._turn(waiting, seconds)
                if len(self.buffer) == size and not waiting:
                    break
        except (Closed, Silent):
            pass
        received = self.buffer
        self.close()
        return received

    def _turn(self, waiting, patience=None):
        readable, writable, _ = select.select(
            [self.socket], [self.socket] if waiting else [], [], patience or self.patience)
        if not readable and not writable:
            raise Silent()
        if readable:
            try:
                data = self.socket.recv(1 << 18)
            except ConnectionError:
                data = b""
            if not data:
                raise Closed()
            self.buffer += data
        if writable:
            try:
                waiting = waiting[self.socket.send(waiting) :]
            except ConnectionError:
                # The answer that was sent before the error can still be read.
                waiting = waiting[len(waiting) :]
        return waiting

    def _take(self, is_head):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.buffer[:end]
        status = int(head[9:12])
        if status == 100:
            self.buffer = self.buffer[end + 4 :]
            return self._take(is_head)
        size = 0
        if not is_head and status not in (204, 304):
            answer = Answer(status, head, b"")
            size = int(answer.header(b"content-length") or 0)
        if len(self.buffer) < end + 4 + size:
            return None
        body = self.buffer[end + 4 : end + 4 + size]
        self.buffer = self.buffer[end + 4 + size :]
        return Answer(status, head, body)
