"""Daemons, a PostgreSQL and a balancer, as the scripts of this folder start them, and clients that sign in at them."""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

STORES = Path(__file__).resolve().parent.parent / "Stores"
TOOLKIT = "/identitytoolkit.googleapis.com/v1/accounts"
REFRESH = "/securetoken.googleapis.com/v1/token?key=demo-api-key"
REDEEM = "/github.com/login/oauth/access_token"
HEALTH = "/_understudy/v1/health"
CLIENT = {"client_id": "Iv1.0123456789abcdef", "client_secret": "github-secret-for-tests"}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


class Daemon:
    """`understudy serve`, which can be ended and started again on its port."""

    def __init__(self, binary, store, *options, port=0):
        self.command, self.options, self.store, self.port = binary, options, store, port
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.command, "serve", "--port", str(self.port), "--log-level", "error", *self.options],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "UNDERSTUDY_STORE": self.store})
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the daemon doesn't start")
        self.port = int(line.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()


class PostgreSQL:
    """A server in a folder of its own, until the end of the `with` block."""

    def __enter__(self):
        self.parent = tempfile.TemporaryDirectory()
        os.chmod(self.parent.name, 0o755)
        self.folder = f"{self.parent.name}/postgresql"
        self.url = self.run("start").strip()
        return self

    def __exit__(self, *_):
        self.run("stop")
        self.parent.cleanup()

    def run(self, action, **environment):
        return subprocess.run(
            [STORES / "postgresql", action, self.folder], check=True, text=True, stdout=subprocess.PIPE,
            env={**os.environ, **environment}).stdout

    def halt(self, mode="fast"):
        self.run("halt", UNDERSTUDY_TEST_HALT=mode)

    def restart(self):
        self.run("restart")


class Balancer:
    """haproxy before daemons, as docs/team.md has it: by turns, and not to those whose health isn't 200."""

    def __init__(self, ports):
        self.folder = tempfile.TemporaryDirectory()
        servers = "\n".join(f"    server daemon-{port} 127.0.0.1:{port} check" for port in ports)
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        listening.set_inheritable(True)
        self.port = listening.getsockname()[1]
        configuration = f"{self.folder.name}/haproxy.cfg"
        Path(configuration).write_text(f"""\
global
    maxconn 4000
defaults
    mode http
    timeout connect 2s
    timeout client 1m
    timeout server 1m
    option redispatch
listen understudy
    bind fd@{listening.fileno()}
    balance roundrobin
    option httpchk
    http-check send meth GET uri {HEALTH} ver HTTP/1.1 hdr Host localhost
    http-check expect status 200
    default-server inter 500ms fall 1 rise 1
{servers}
""")
        self.process = subprocess.Popen(
            ["haproxy", "-db", "-q", "-f", configuration], close_fds=False, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Client:
    """An HTTP client that keeps its connection."""

    def __init__(self, port, timeout=30):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def ask(self, method, target, body=None, kind=JSON):
        self.connection.request(method, target, body, {"Content-Type": kind, "Accept": JSON})
        response = self.connection.getresponse()
        self.headers = response.headers
        text = response.read().decode()
        return response.status, response.getheader("Location") or "", text


def code(client):
    """Requests an authorization at GitHub that an outcome answers. Returns the code, or None if it is refused."""
    status, _, _ = client.ask("POST", "/_understudy/v1/outcomes", '{"provider":"github","outcome":"approve"}')
    if status != 201:
        return None
    asked = urllib.parse.urlencode({"client_id": CLIENT["client_id"], "redirect_uri": "http://localhost:3000/callback"})
    _, location, _ = client.ask("GET", f"/github.com/login/oauth/authorize?{asked}")
    return urllib.parse.parse_qs(urllib.parse.urlsplit(location).query).get("code", [None])[0]


def redeem(client, value):
    status, _, text = client.ask("POST", REDEEM, urllib.parse.urlencode({**CLIENT, "code": value}), FORM)
    # A refusal by the store doesn't show whether the code is still valid.
    client.reason = f"{status}: {client.headers.get('Understudy-Diagnosis', '')[:200]}"
    return status == 200 and "access_token" in text


class Writer(threading.Thread):
    """Signs people up and in until the daemon goes or it is stopped, and remembers what was answered. `watch` sees each
    client's last answer."""

    def __init__(self, port, watch=None):
        super().__init__(daemon=True)
        self.port, self.watch = port, watch
        self.refresh, self.codes, self.used = [], [], []
        self.stopped = threading.Event()
        self.failure = None

    @property
    def total(self):
        return len(self.refresh) + len(self.codes) + len(self.used)

    def run(self):
        client = Client(self.port)
        if self.watch:
            ask = client.ask

            def watched(*request):
                began = time.monotonic()
                answer = ask(*request)
                self.watch(request, answer, client.headers, time.monotonic() - began)
                return answer
            client.ask = watched
        try:
            while not self.stopped.is_set():
                self.sign_in(client)
        except (OSError, http.client.HTTPException) as failure:
            self.failure = failure

    def sign_in(self, client):
        status, _, text = client.ask("POST", f"{TOOLKIT}:signUp?key=demo-api-key", '{"returnSecureToken":true}')
        if status == 200:
            self.refresh.append(json.loads(text)["refreshToken"])
        given = code(client)
        if given is None:
            return
        if random.random() < 0.5:
            self.codes.append(given)
        elif redeem(client, given):
            self.used.append(given)


def check(port, writers):
    """Compares the last answers with the daemon at `port`, and returns the differences."""
    client, wrong = Client(port), []
    for writer in writers:
        for token in writer.refresh[-20:]:
            body = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": token})
            if client.ask("POST", REFRESH, body, FORM)[0] != 200:
                wrong.append("a refresh token is lost")
        wrong += ["a code worked twice" for used in writer.used[-20:] if redeem(client, used)]
        for given in writer.codes[-5:]:
            if not redeem(client, given):
                wrong.append(f"a code is lost ({client.reason})")
            elif redeem(client, given):
                wrong.append("a code worked twice")
    return wrong


def report(what, wrong):
    """Prints the result. Returns 1 if something is wrong."""
    print(f"{what}: {len(wrong)} wrong")
    for kind in sorted(set(wrong)):
        print(f"  {kind}: {wrong.count(kind)} times")
    return 1 if wrong else 0
