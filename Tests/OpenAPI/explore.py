"""Generates calls of the control API from its OpenAPI document, and compares each answer with what the document allows."""
import os
import random
import sys
from collections import Counter

import jsonschema
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi import checks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Fuzz", "http"))
import examples  # noqa: E402
from daemon import Daemon  # noqa: E402
from safety import made_safe  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENT = "/_understudy/v1/openapi.json"
CHECKS = [
    not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
    checks.response_schema_conformance, checks.response_headers_conformance,
]
# A fault can change the answers of calls that stand for a provider in any way, so no faults are ordered here.
FAULTY = "/authorizations"


class Exploration:
    def __init__(self, daemon, calls, start):
        self.base = f"http://127.0.0.1:{daemon.port}"
        self.daemon = daemon
        self.session = requests.Session()
        self.random = random.Random(start)
        self.start = start
        self.answers = Counter()
        self.findings = []
        # For these operations, no call can be generated that their schemas refuse.
        self.blameless = set()
        document = self.session.get(self.base + DOCUMENT, timeout=30).json()
        validate(document)
        self.document = document
        self.validators = {}
        # The document names another address. The checks get the daemon's address below.
        self.schema = schemathesis.openapi.from_dict(document)
        self.operations = [operation.ok() for operation in self.schema.get_all_operations()]
        described = sum(len(methods) for methods in document["paths"].values())
        if described != len(self.operations):
            raise SystemExit(f"{described} calls are described, and {len(self.operations)} can be generated")
        self.seed = self.ask("GET", "seed").json()
        self.calls = calls
        self.known = {"number": ["1", "2"]}

    def explore(self):
        operations = {operation.label: operation for operation in self.operations}
        for label, parameters, query, body in examples.calls(self.ask):
            options = {} if body is None else {"body": body, "media_type": "application/json"}
            case = operations[label].Case(path_parameters=parameters, query=query, **options)
            status = self.send(case)
            if status >= 300 and not (label.endswith("/verify") and status == 409):
                raise SystemExit(f"{label} {query} {body}: an example is answered {status}")
        # There are several rounds, since some calls can't vary, and others use results of the round before.
        share = max(3, self.calls // (5 * len(self.operations)))
        while sum(self.answers.values()) < self.calls:
            self.start += 1
            for operation in self.operations:
                self.learn()
                self.generate(operation, GenerationMode.POSITIVE, 2 * share)
                self.generate(operation, GenerationMode.NEGATIVE, share)

    def generate(self, operation, mode, count):
        try:
            cases = operation.as_strategy(generation_mode=mode)
        except Exception as problem:  # A call without parameters and body can't be wrong.
            if mode == GenerationMode.POSITIVE:
                raise
            return self.blameless.add(f"{operation.label} ({type(problem).__name__})")

        @seed(self.start)
        @settings(
            max_examples=count, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), print_blob=False)
        @given(case=cases)
        def call(case):
            self.call(case)

        try:
            call()
        except Exception as problem:
            if mode == GenerationMode.POSITIVE or "Unsatisfiable" not in type(problem).__name__:
                raise

    def call(self, case):
        made_safe(case)
        self.substitute(case)
        if case.path.endswith(FAULTY):
            self.ask("DELETE", "faults")
        self.send(case)

    def send(self, case):
        """Sends a call, compares the answer with the document, and returns its status."""
        response = case.call(base_url=self.base, session=self.session, timeout=60)
        label = f"{case.method} {case.path}"
        self.answers[label, response.status_code] += 1
        try:
            case.validate_response(response, checks=CHECKS)
        except (Failure, FailureGroup) as problem:
            for failure in getattr(problem, "exceptions", [problem]):
                self.note(label, case, response, failure.title, failure.message)
        self.compare(label, case, response)
        if not self.daemon.lives:
            raise SystemExit(f"{label} ended the daemon: {self.daemon.last_words()}")
        return response.status_code

    def ask(self, method, call, body=None):
        return self.session.request(method, f"{self.base}{call if call.startswith('/') else examples.ROOT + call}", json=body, timeout=30)

    def compare(self, label, case, response):
        """Compares an answer with its JSON Schema, since schemathesis allows members that the schema excludes."""
        described = self.document["paths"][case.path][case.method.lower()]["responses"].get(str(response.status_code), {})
        if response.headers.get("content-type", [""])[0] != "application/json" or "application/json" not in described.get("content", {}):
            return
        path = case.path.replace("~", "~0").replace("/", "~1")
        place = f"#/paths/{path}/{case.method.lower()}/responses/{response.status_code}/content/application~1json/schema"
        if place not in self.validators:
            self.validators[place] = jsonschema.Draft202012Validator(self.document | {"$ref": place})
        for error in self.validators[place].iter_errors(response.json()):
            # Python's patterns are not those of JSON Schema, whose white space is another. schemathesis compares with the latter.
            if error.validator == "pattern":
                continue
            self.note(label, case, response, f"{error.json_path} isn't as described", error.message[:500])
            break

    def note(self, label, case, response, title, text):
        """Notes a finding. Several findings of one kind count as one."""
        known = f"{label} {response.status_code}: {title}"
        if known not in [finding[0] for finding in self.findings]:
            self.findings.append((known, f"{case.as_curl_command()}\n{response.content[:600]!r}\n{text}"))

    def substitute(self, case):
        """Puts an existing ID into half of the paths."""
        for name in case.path_parameters or {}:
            if self.known.get(name) and self.random.random() < 0.5:
                case.path_parameters[name] = self.random.choice(self.known[name])

    def learn(self):
        """Collects the IDs of what exists now, such as a mail, a recorded request and orders."""
        self.ask("PUT", "seed", self.seed)
        self.session.get(f"{self.base}/appleid.apple.com/auth/keys", timeout=30)
        self.ask("POST", "mail", examples.MAIL)
        self.ask("POST", "faults", {"match": {"host": "api.github.com"}, "effect": {"status": 503}})
        self.ask("POST", "outcomes", {"provider": "google", "outcome": "cancel"})
        self.ask("POST", "worlds", {"name": "other"})
        self.known["id"] = [
            one["id"] for call, name in (("requests?limit=2", "requests"), ("mail?limit=2", "messages"), ("accounts?limit=2", "accounts"),
                                         ("faults", "faults"), ("outcomes", "outcomes"))
            for one in self.ask("GET", call).json()[name][:2]]
        self.known["name"] = ["other", *[one["name"] for one in self.ask("GET", "scenarios").json()["scenarios"]]]


def main(binary, calls):
    fixed = os.environ.get("UNDERSTUDY_FUZZ_SEED")
    start = int(fixed) if fixed else 1 if calls <= 1000 else random.SystemRandom().randrange(1 << 31)
    daemon = Daemon(binary, ROOT)
    try:
        exploration = Exploration(daemon, calls, start)
        exploration.explore()
        resident = daemon.resident if os.path.exists("/proc") else 0
    finally:
        code = daemon.stop()
    made = sum(exploration.answers.values())
    statuses = Counter()
    for (_, status), count in exploration.answers.items():
        statuses[status] += count
    for known, finding in exploration.findings:
        print(f"--- {known}\n{finding}\n")
    # Mails by JSON have no attachments, so no attachment can be requested.
    silent = [operation.label for operation in exploration.operations if "/attachments/" not in operation.path
              and not any(label == operation.label and status < 300 for label, status in exploration.answers)]
    print(f"{made} calls of {len(exploration.operations)} from {start}, answered "
          + ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())) + f"; {resident} MB resident")
    if code not in (0, -15):
        raise SystemExit(f"the daemon ended with {code}")
    if silent:
        raise SystemExit("no example is answered 2xx: " + ", ".join(silent))
    if exploration.findings:
        raise SystemExit(f"{len(exploration.findings)} answers aren't as described (UNDERSTUDY_FUZZ_SEED={start} repeats it)")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
