"""One run of the fuzzer against one daemon: what was sent, what was learned, what was found."""
import json
import time
from collections import Counter

import rules
from daemon import Daemon
from wire import Closed, Connection, Silent

KEPT = 20_000


class Session:
    """Sends calls in the name of the fuzzer and looks at every answer. Restarts nothing: a daemon that ends is a finding."""

    def __init__(self, binary, root, memory):
        self.binary, self.root, self.memory = binary, root, memory
        self.daemon = Daemon(binary, root)
        self.connection = Connection(self.daemon.port)
        self.uses = rules.SingleUses()
        self.statuses, self.endpoints_hit = Counter(), set()
        self.requests, self.largest, self.slowest, self.slowest_call = 0, 0, 0.0, ""
        self.next_health = 0.0
        # These are the worlds in which a fault that breaks JSON was ordered.
        self.malformed = set()
        # These are the requests since the daemon began, the newest last, with which a finding can be repeated.
        self.trace = []
        # The first finding. Hypothesis runs what failed again, which is of no use with a daemon that has a past.
        self.finding = None

    def stop(self):
        self.connection.close()
        return self.daemon.stop()

    def found(self, what, sent, answer=None):
        shown = f"\n  {answer.status} {answer.head.decode('latin-1')[:600]}\n\n  {answer.body[:300]!r}" if answer else ""
        finding = rules.Finding(f"{what}\n  {sent[:700]!r}{shown}")
        if self.finding is None:
            self.finding, self.needed = finding, list(self.trace)
        raise finding

    # Calls

    def send(self, call):
        """Sends a call. Returns its answer, or `None` if the connection was closed, which a fault can order."""
        answers = self.send_all([call])
        return answers[0] if answers else None

    def send_all(self, calls):
        """Sends calls. Returns the answers in order, without those after a closed connection."""
        data = [call.bytes() for call in calls]
        self.remember(data)
        heads = {place for place, call in enumerate(calls) if call.method == "HEAD"}
        answers, place = [], 0
        attempts = 0
        while place < len(calls):
            began = time.monotonic()
            try:
                rest = {head - place for head in heads if head >= place}
                for answer in self.connection.exchange(data[place:], rest):
                    self.look(calls[place], data[place], answer)
                    answers.append(answer)
                    place, attempts = place + 1, 0
                    if (answer.header(b"connection") or "").lower() == "close":
                        self.connection.close()
                        break
            except Closed:
                self.connection.close()
                if not self.alive():
                    self.found(f"the daemon ended with {self.daemon.process.returncode}: {self.daemon.last_words()}",
                               data[place])
                attempts += 1
                if attempts > 1:
                    # If the daemon closes twice without an answer, a fault has ordered it, or the request wasn't HTTP.
                    self.statuses["closed"] += 1
                    answers.append(None)
                    place, attempts = place + 1, 0
            except Silent:
                self.connection.close()
                self.found("no answer within 20 s", data[place])
            except ValueError:
                self.connection.close()
                self.found("an answer that isn't HTTP", data[place])
            elapsed = time.monotonic() - began
            if elapsed > self.slowest:
                self.slowest, self.slowest_call = elapsed, f"{len(calls)} from {calls[0].method} {calls[0].path[:60]}"
        self.watch()
        return answers

    def look(self, call, data, answer):
        self.requests += 1
        self.statuses[answer.status] += 1
        self.endpoints_hit.add((call.method, call.host, call.path.split("?")[0][:60], answer.status))
        if b"malformedJSON" in data:
            self.malformed.add(call.world)
        wrong = rules.check(answer, call.method == "HEAD", call.world in self.malformed)
        if wrong:
            self.found(wrong, data, answer)
        if "/_understudy/" in call.path:
            if any(word in call.path for word in ("/reset", "/clock", "/faults", "/scenarios", "/worlds")):
                self.uses.forget(call.world)
        else:
            twice = self.uses.check(call, answer)
            if twice:
                self.found(twice, data, answer)

    # Bytes

    def raw(self, data):
        self.remember([data])
        self.requests += 1
        received = Connection(self.daemon.port).rest(data, 0.02)
        if received[:5] == b"HTTP/":
            end = received.find(b"\r\n\r\n")
            head = received[: end if end >= 0 else len(received)]
            status = int(head[9:12]) if head[9:12].isdigit() else 0
            self.statuses[status] += 1
            if status >= 500 and status not in (501, 505):
                self.found("a status that nobody ordered", data + b" -> " + head)
            if status >= 400 and head.lower().count(b"\r\nunderstudy-diagnosis:") != 1:
                self.found("a refusal without one diagnosis", data + b" -> " + head)
        self.watch()

    def stream(self, world):
        """Opens an event stream, and closes it after a moment."""
        target = (f"/~{world}" if world else "") + "/_understudy/v1/requests"
        data = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
        self.remember([data])
        Connection(self.daemon.port).rest(data, 0.01)

    # Watching

    def remember(self, data):
        self.trace.extend(data)
        if len(self.trace) > KEPT:
            del self.trace[: KEPT // 2]

    def alive(self):
        # A crash takes a moment to write its stack.
        for _ in range(20):
            if not self.daemon.lives:
                return False
            time.sleep(0.01)
        return True

    def watch(self):
        now = time.monotonic()
        if now < self.next_health:
            return
        self.next_health = now + 0.5
        if not self.daemon.lives:
            self.found(f"the daemon ended with {self.daemon.process.returncode}: {self.daemon.last_words()}", b"")
        resident = self.daemon.resident
        self.largest = max(self.largest, resident)
        if resident > self.memory:
            self.found(f"{resident} MB are resident; the budget is {self.memory}", b"")
        began = time.monotonic()
        health = Connection(self.daemon.port, 10)
        try:
            answer = next(health.exchange([b"GET /_understudy/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"]))
        except (Closed, Silent, OSError) as error:
            if self.daemon.lives:
                self.found(f"health doesn't answer: {error!r}", b"")
            self.found(f"the daemon ended with {self.daemon.process.returncode}: {self.daemon.last_words()}", b"")
        finally:
            health.close()
        if answer.status != 200:
            self.found("health is refused", b"", answer)
        if time.monotonic() - began > 5:
            self.found("health takes more than 5 s", b"")


def repeats(binary, root, memory, trace, seconds=5):
    """Whether the same bytes find something again, at a daemon of their own."""
    session = Session(binary, root, memory)
    try:
        for data in trace:
            head = data[:5] == b"HEAD "
            try:
                for answer in session.connection.exchange([data], {0} if head else ()):
                    wrong = rules.check(answer, head)
                    if wrong:
                        return wrong
                    if (answer.header(b"connection") or "").lower() == "close":
                        session.connection.close()
            except (Closed, OSError):
                session.connection.close()
                if not session.alive():
                    return f"the daemon ended with {session.daemon.process.returncode}: {session.daemon.last_words()}"
            except Silent:
                return "no answer"
            except ValueError:
                session.connection.close()
        return None if session.alive() else "the daemon ended"
    finally:
        session.stop()


def shortened(binary, root, memory, trace, seconds):
    """Returns as few of the requests as possible that find it again: the last one, the last few, or without some
    halves."""
    end = time.monotonic() + seconds
    for count in (1, 2, 5, 20, 100, 500):
        if repeats(binary, root, memory, trace[-count:]):
            trace = trace[-count:]
            break
        if time.monotonic() > end:
            return trace
    size = max(1, len(trace) // 2)
    while time.monotonic() < end:
        place = 0
        while place < len(trace) and time.monotonic() < end:
            fewer = trace[:place] + trace[place + size :]
            if fewer and repeats(binary, root, memory, fewer):
                trace = fewer
            else:
                place += size
        if size == 1:
            break
        size //= 2
    return trace


def write(trace, path):
    with open(path, "w") as file:
        for data in trace:
            file.write(json.dumps({"text": data.decode("latin-1")}) + "\n")


def read(path):
    with open(path) as file:
        return [json.loads(line)["text"].encode("latin-1") for line in file]
