"""A stateful fuzzer: signs in as it should, then sends what it has learned, changed.

usage: fuzz.py BINARY SECONDS            exit code 1 when something is found
       fuzz.py BINARY --repeat FILE      sends a finding's requests again
"""
import itertools
import os
import random
import sys
import time

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as begin_with
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import mutation
from calls import Call, control
from people import People, Signer
from rules import Finding
from session import Session, read, repeats, shortened, write

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
# Resident megabytes: recordings may take 64, and everything else that is bounded as much again, several times.
MEMORY = int(os.environ.get("UNDERSTUDY_FUZZ_MEMORY", "512"))
# So many requests are sent together.
BATCH = 24

odd_texts = st.text(max_size=60)
odd_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4), max_leaves=8)


class Machine(RuleBasedStateMachine):
    """Hypothesis chooses what happens in which order and the odd values; the many requests of a step follow from a seed."""

    session = None
    signer = None
    end = 0.0
    started = 0
    endpoints = []
    examples = 0

    def __init__(self):
        super().__init__()
        Machine.examples += 1
        self.pools = [{}, {}]
        self.calls = []
        self.odd = list(mutation.TEXTS[:5])
        self.secrets = {}
        # The default world, and one of several others.
        self.worlds = ["", f"w{Machine.examples % 40}"]

    @property
    def is_over(self):
        return time.monotonic() > Machine.end or Machine.session.finding is not None

    def keeping(self, call):
        self.calls.append(call.copy())
        return Machine.session.send(call)

    def sign_in(self, ways, place):
        people = People(self.keeping, self.pools[place], Machine.signer, self.worlds[place], self.secrets)
        for way in ways:
            if self.is_over:
                return
            getattr(people, way)()

    @initialize(place=st.integers(0, 1), odd=st.lists(odd_texts | odd_json, min_size=8, max_size=20))
    def begin(self, place, odd):
        self.odd += odd
        if self.is_over:
            return
        for world in self.worlds:
            Machine.session.send(control("POST", "reset", {}, world=world))
        self.sign_in(People.WAYS, place)

    @rule(way=st.sampled_from(People.WAYS), place=st.integers(0, 1))
    def somebody_signs_in(self, way, place):
        self.sign_in([way], place)

    @rule(seed=st.integers(0, 2**32), count=st.integers(500, 3000), place=st.integers(0, 1))
    def calls_are_changed(self, seed, count, place):
        source = random.Random(seed)
        pool, world = self.pools[place], self.worlds[place]
        other = self.pools[1 - place]
        learner = People(None, pool, Machine.signer, world, self.secrets)
        while count > 0 and not self.is_over and self.calls:
            batch = []
            for _ in range(min(BATCH, count)):
                call = self.made(source) if source.random() < 0.15 else source.choice(self.calls)
                # Some calls get values of the other world, and some are repeated unchanged.
                mixed = other if source.random() < 0.1 and other else pool
                call = call.copy() if source.random() < 0.1 else mutation.change(call, source, mixed, self.odd)
                call.world = world if source.random() < 0.95 else source.choice(self.worlds)
                batch.append(mutation.without_waiting(call))
            count -= len(batch)
            for answer in Machine.session.send_all(batch):
                if answer is not None and source.random() < 0.1:
                    learner.learn(answer)

    def made(self, source):
        """Makes a call to any endpoint, with any fields."""
        endpoint = source.choice(Machine.endpoints)
        path = "/".join(source.choice(("ada", "demo-app", "1", "x")) if part == "*" else part for part in endpoint["path"].split("/"))
        fields = {source.choice(mutation.FIELDS): mutation.value(source, self.pools[0], self.odd) for _ in range(source.randrange(6))}
        kind = "query" if endpoint["method"] == "GET" else source.choice(("form", "json"))
        return Call(endpoint["method"], (endpoint.get("host") or "").replace("*", "demo-app"), path, kind, fields)

    @rule(seed=st.integers(0, 2**32), count=st.integers(1, 12), place=st.integers(0, 1))
    def something_is_ordered(self, seed, count, place):
        source = random.Random(seed)
        for _ in range(count):
            if self.is_over:
                return
            method, path, body = mutation.control_calls(source, Machine.endpoints)
            call = mutation.without_waiting(control(method, path, body, world=self.worlds[place]))
            if source.random() < 0.3:
                call = mutation.change(call, source, self.pools[place], self.odd)
            Machine.session.send(call)

    @rule(place=st.integers(0, 1))
    def orders_are_taken_back(self, place):
        if self.is_over:
            return
        for method, path, body in (("DELETE", "faults", None), ("POST", "clock", {"reset": True}),
                                   ("POST", "clock", {"set": "2030-01-01T00:00:00Z", "freeze": True})):
            Machine.session.send(control(method, path, body, world=self.worlds[place]))

    @rule(body=odd_json, path=st.sampled_from((
        "outcomes", "faults", "tokens", "accounts", "verify", "clock", "apple/authorizations", "scenarios/replayed-code")))
    def odd_orders(self, body, path):
        if not self.is_over:
            Machine.session.send(mutation.without_waiting(control("POST", path, body if isinstance(body, dict) else {"a": body})))

    @rule(data=st.sampled_from(mutation.RAW) | st.binary(max_size=200), seed=st.integers(0, 2**32))
    def bytes_that_are_no_http(self, data, seed):
        if self.is_over:
            return
        source = random.Random(seed)
        if self.calls and source.random() < 0.6:
            data = bytearray(source.choice(self.calls).bytes())
            for _ in range(source.randrange(1, 4)):
                place = source.randrange(len(data))
                data[place : place + source.randrange(3)] = bytes(source.randrange(256) for _ in range(source.randrange(3)))
                if not data:
                    data = bytearray(b"\0")
            data = bytes(data)
        Machine.session.raw(data)

    @rule(place=st.integers(0, 1))
    def somebody_listens_for_a_moment(self, place):
        if not self.is_over:
            Machine.session.stream(self.worlds[place])


def learn_endpoints(session):
    import json
    answer = session.send(control("GET", "endpoints"))
    # The commands of SMTP are among them, without a path.
    return [endpoint for endpoint in json.loads(answer.body)["endpoints"] if "path" in endpoint]


def fuzz(binary, seconds):
    session = Machine.session = Session(binary, ROOT, MEMORY)
    Machine.signer = Signer(ROOT)
    began = time.monotonic()
    Machine.end = began + seconds
    found = None
    try:
        Machine.endpoints = learn_endpoints(session)
        start = os.environ.get("UNDERSTUDY_FUZZ_SEED")
        for turn in itertools.count():
            if time.monotonic() >= Machine.end or found is not None:
                break
            if start:
                begin_with(int(start) + turn)(Machine)
            try:
                run_state_machine_as_test(Machine, settings=settings(
                    max_examples=50, stateful_step_count=40, deadline=None, database=None, phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck), print_blob=False, report_multiple_bugs=False))
            except Exception:
                if session.finding is None:
                    raise
            found = session.finding
        took = time.monotonic() - began
    finally:
        session.stop()
    if found is None and session.daemon.process.returncode != 0:
        found = Finding(f"the daemon ended with {session.daemon.process.returncode}: {session.daemon.last_words()}")
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(session.statuses.items(), key=lambda entry: str(entry[0])))
    print(f"http: {session.requests} requests in {took:.0f} s ({session.requests / took:.0f} a second), "
          f"{Machine.examples} sequences, {len(session.endpoints_hit)} pairs of endpoint and status, "
          f"{session.largest} MB at most, the slowest batch {session.slowest:.2f} s ({session.slowest_call})")
    print(f"http: {statuses}")
    if found is None:
        print("http: nothing found")
        return 0
    print(f"http: FOUND: {found}")
    trace = shortened(binary, ROOT, MEMORY, session.needed if session.finding else session.trace, 60)
    folder = os.path.join(ROOT, ".build/fuzz-findings")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"http-{int(time.time())}.jsonl")
    write(trace, path)
    print(f"http: {len(trace)} requests in {os.path.relpath(path, ROOT)}; again: Tests/Fuzz/http/run BINARY --repeat THAT")
    return 1


def main(arguments):
    if len(arguments) == 3 and arguments[1] == "--repeat":
        wrong = repeats(arguments[0], ROOT, MEMORY, read(arguments[2]))
        print(wrong or "nothing is wrong any more")
        return 1 if wrong else 0
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    return fuzz(arguments[0], float(arguments[1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
