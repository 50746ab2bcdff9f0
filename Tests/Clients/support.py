"""A daemon for tests with real clients, and the settings by which the clients find it."""

import json
import os
import re
import select
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import requests

BINARY = os.environ["UNDERSTUDY_BINARY"]


class Daemon:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.url = f"http://localhost:{self.port}"
        self.github = f"{self.url}/github.com"

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def control(self, path, **body):
        request = urllib.request.Request(f"{self.url}/_understudy/v1/{path}", data=json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


class DaemonTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.daemon.control("reset")


class Person:
    """A person at a simple browser, with cookies, redirects and forms."""

    def __init__(self, daemon, account):
        self.github = daemon.github
        self.session = requests.Session()
        self.session.post(f"{self.github}/session", data={"account": account, "return_to": "/login/device"})

    def submit(self, page, **fields):
        """Posts a page's form, with every box ticked."""
        page.raise_for_status()
        form = page.text[page.text.rindex("<form ") :]
        data = [
            (attribute(tag, "name"), attribute(tag, "value"))
            for tag in re.findall("<input [^>]*>", form)
            if attribute(tag, "type") in ("hidden", "checkbox")
        ]
        answer = self.session.post(
            attribute(form, "action"), data=data + list(fields.items()), allow_redirects=False)
        return answer

    def enter(self, user_code):
        page = self.session.get(f"{self.github}/login/device")
        consent = self.submit(page, user_code=user_code)
        self.submit(consent, authorize="1").raise_for_status()


def attribute(tag, name):
    found = re.search(f'{name}="([^"]*)"', tag)
    return found.group(1) if found else ""


class TLSTerminator:
    """The daemon behind TLS, under the providers' own names, for clients that speak nothing else.

    socat ends TLS with a certificate made for the run; a proxy answers CONNECT for any host and leads to socat. So
    neither a hosts file nor port 443 is needed.
    """

    def __init__(self, daemon, names):
        self.folder = tempfile.TemporaryDirectory()
        self.certificate = os.path.join(self.folder.name, "certificate.pem")
        key = os.path.join(self.folder.name, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=Understudy, for one test run", "-keyout", key, "-out", self.certificate,
             "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names)],
            check=True, capture_output=True,
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.socat = subprocess.Popen(
            ["socat", f"OPENSSL-LISTEN:{self.port},bind=127.0.0.1,reuseaddr,fork,verify=0,cert={self.certificate},key={key}",
             f"TCP:127.0.0.1:{daemon.port}"], stderr=subprocess.DEVNULL,
        )
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        for _ in range(6000):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                select.select([], [], [], 0.05)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(4096)
            if not part:
                return client.close()
            head += part
        if not head.startswith(b"CONNECT "):
            client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return client.close()
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    (server if source is client else client).sendall(data)

    def environment(self):
        return {"HTTPS_PROXY": self.proxy, "SSL_CERT_FILE": self.certificate}

    def stop(self):
        self.listener.close()
        self.socat.terminate()
        self.socat.wait()
        self.folder.cleanup()
