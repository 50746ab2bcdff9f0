"""A daemon that takes mail by SMTP."""

import json
import os
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from support import BINARY, Daemon


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait(what, is_done, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = is_done()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"in {seconds} s there was no {what}")


class MailDaemon(Daemon):
    """A daemon with SMTP on a free port, and STARTTLS by an authority of its own."""

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([BINARY, "ca", "init", "--ca-directory", self.folder.name], check=True, capture_output=True)
        self.authority = os.path.join(self.folder.name, "understudy-ca.pem")
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--smtp-port", "0", "--tls-port", "0", "--ca-directory", self.folder.name,
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[3].replace("127.0.0.1", "localhost")
        self.smtp = self.health()["ports"]["smtp"]

    def stop(self):
        """Ends the daemon, and returns its log."""
        self.process.terminate()
        log = self.process.communicate()[1]
        self.folder.cleanup()
        return log

    def get(self, path, world=None):
        with urllib.request.urlopen(f"{self.url}{f'/~{world}' if world else ''}/_understudy/v1/{path}") as answer:
            return answer.read()

    def health(self):
        return json.loads(self.get("health"))

    def mail(self, to, wait="10s", **query):
        """Returns the latest mail to this address."""
        query = urllib.parse.urlencode({"to": to, "wait": wait, **query})
        found = json.loads(self.get(f"mail?{query}"))["messages"]
        if not found:
            raise AssertionError(f"there is no mail to {to}")
        return found[-1]

    def raw(self, message):
        return self.get(f"mail/{message['id']}/raw")


class MailTestCase(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = MailDaemon(*cls.options)
        cls.addClassCleanup(cls.daemon.stop)
