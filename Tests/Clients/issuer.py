"""An OpenID Connect issuer for the tests, and a browser whose user signs in there."""

import html
import json
import pathlib
import re
import socket
import tempfile
import unittest
import urllib.parse

import requests

from support import Daemon, attribute

APPS = pathlib.Path(__file__).parent / "apps"
SECRET = "openid-secret-for-tests"
# Faults and scenarios name the issuer's host so, whatever address a client uses.
HOST = "login.corp.example"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def seed(clients, **issuer):
    people = [("ada", ["engineers", "admins"]), ("grace", ["engineers"])]
    return {
        "accounts": [
            {"id": name, "openid": {"groups": groups, "claims": {"department": "engines"}}} for name, groups in people],
        "openid": {"issuers": [
            {"id": "corp", "issuer": f"https://{HOST}", "issuerFollowsRequest": True, "clients": clients,
             "algorithms": ["RS256", "PS256", "ES256"], **issuer},
            # The documents of this issuer name another issuer than their own address.
            {"id": "other", "issuer": "https://login.other.example", "clients": clients},
        ]},
    }


class IssuerTestCase(unittest.TestCase):
    """A daemon that has `clients` at the issuer `corp`. A client is told the issuer's address, and discovers the rest."""

    # A subclass sets further members of the issuer here.
    more = {}

    @classmethod
    def clients(cls):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        file = cls.folder / "seed.json"
        file.write_text(json.dumps(seed(cls.clients(), **cls.more)))
        cls.daemon = Daemon("--seed", str(file))
        cls.addClassCleanup(cls.daemon.stop)
        cls.issuer = f"{cls.daemon.url}/oidc/corp"

    def setUp(self):
        self.daemon.control("reset")

    def fault(self, times=1, path="*", **effect):
        self.daemon.control("faults", match={"host": HOST, "path": path}, times=times, effect=effect)

    def break_token(self, **token):
        self.fault(path="*/token", token=token)

    def scenario(self, name):
        self.daemon.control(f"scenarios/{name}")

    def introspect(self, token, client):
        answer = requests.post(f"{self.issuer}/introspect", data={"token": token}, auth=(client, SECRET))
        answer.raise_for_status()
        return answer.json()

    def recorded(self, **search):
        """Returns the recorded requests: those that the daemon has answered, and those that it has sent itself."""
        answer = requests.get(f"{self.daemon.url}/_understudy/v1/requests", params=search)
        answer.raise_for_status()
        return answer.json()["requests"]


class Browser:
    """Follows redirects, and chooses a person on the issuer's page."""

    def __init__(self, account="ada"):
        self.account = account
        self.session = requests.Session()
        # These are the addresses of the issuer's pages that were shown.
        self.pages = []

    def get(self, address, until=None):
        return self.follow(self.session.get(address, allow_redirects=False), until)

    def follow(self, answer, until=None):
        """Goes on to a page that isn't the issuer's, or to the first redirect to an address that begins with `until`:
        a client that has no web server reads it."""
        for _ in range(20):
            if answer.is_redirect:
                address = urllib.parse.urljoin(answer.url, answer.headers["Location"])
                if until and address.startswith(until):
                    return address
                answer = self.session.get(address, allow_redirects=False)
            elif '<button class="person"' in answer.text:
                self.pages.append(answer.url)
                answer = self.submit(answer, account=self.account)
            else:
                return answer
        raise AssertionError(f"redirected in circles, last to {answer.url}")

    def submit(self, page, **fields):
        """Posts a page's form."""
        form = page.text[page.text.rindex("<form "):]
        data = {
            html.unescape(attribute(tag, "name")): html.unescape(attribute(tag, "value"))
            for tag in re.findall("<input [^>]*>", form) if attribute(tag, "type") == "hidden"
        }
        action = urllib.parse.urljoin(page.url, html.unescape(attribute(form, "action")))
        return self.session.post(action, data=data | fields, allow_redirects=False)


def query(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))
