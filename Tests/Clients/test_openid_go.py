"""OpenID Connect with go-oidc, as Debian has it."""

import json
import os
import pathlib
import subprocess
import unittest

from issuer import APPS, SECRET, Browser, IssuerTestCase

CALLBACK = "https://app.example/callback"
LIBRARIES = pathlib.Path("/usr/share/gocode")


class Program:
    """A running go_client.go."""

    def __init__(self, binary, issuer, client="go", algorithm="ES256"):
        self.process = subprocess.Popen(
            [str(binary), issuer, client, SECRET, algorithm, CALLBACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def read(self):
        return json.loads(self.process.stdout.readline())

    def sign_in(self, account="ada"):
        callback = Browser(account).get(self.read()["open"], until=CALLBACK)
        self.process.stdin.write(f"{callback}\n")
        self.process.stdin.flush()
        return self.read()

    def stop(self):
        # It ends with its input.
        self.process.communicate()


@unittest.skipUnless((LIBRARIES / "src/github.com/coreos/go-oidc").exists(), "go-oidc isn't here")
class GoOIDC(IssuerTestCase):
    @classmethod
    def clients(cls):
        return [
            {"clientID": "go", "clientSecret": SECRET, "redirectURIs": [CALLBACK], "idTokenAlgorithm": "ES256"},
            {"clientID": "go-rsa", "clientSecret": SECRET, "redirectURIs": [CALLBACK], "idTokenAlgorithm": "PS256",
             "tokenEndpointAuthMethod": "client_secret_post"},
        ]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.binary = cls.folder / "go_client"
        subprocess.run(
            ["go", "build", "-o", str(cls.binary), str(APPS / "go_client.go")], check=True,
            env=os.environ | {"GOPATH": str(LIBRARIES), "GO111MODULE": "off", "CGO_ENABLED": "0"})

    def start(self, issuer=None, **more):
        program = Program(self.binary, issuer or self.issuer, **more)
        self.addCleanup(program.stop)
        return program

    def test_sign_in(self):
        for client, algorithm in [("go", "ES256"), ("go-rsa", "PS256")]:
            with self.subTest(algorithm):
                found = self.start(client=client, algorithm=algorithm).sign_in()
                self.assertTrue(found.get("renewed"), found)
                self.assertEqual(
                    [found["claims"][name] for name in ("iss", "aud", "email", "groups")],
                    [self.issuer, client, "ada@example.com", ["engineers", "admins"]])
                self.assertEqual(found["userinfo"]["email"], "ada@example.com")

    def test_refusals(self):
        program = self.start()
        for broken, complaint in [
            ({"claims": {"nonce": "another"}}, "another nonce"),
            ({"claims": {"iss": "https://login.other.example"}}, "issued by a different provider"),
            ({"claims": {"aud": "another"}}, "expected audience"), ({"claims": {"at_hash": "AAAA"}}, "access token"),
            ({"claims": {"exp": "-1h"}}, "expired"), ({"signature": "invalid"}, "failed to verify"),
            ({"signature": "unknownKey"}, "failed to verify"), ({"signature": "wrongAlgorithm"}, "unsupported algorithm"),
        ]:
            with self.subTest(broken):
                self.break_token(**broken)
                self.assertIn(complaint, program.sign_in().get("refused", "nothing was refused"))

    def test_issuer_of_another_name(self):
        found = self.start(f"{self.daemon.url}/oidc/other").read()
        self.assertIn("issuer did not match", found["refused"])

    def test_list_of_audiences(self):
        self.daemon.control("scenarios/openid-audience-list", client="go")
        self.assertEqual(self.start().sign_in()["claims"]["aud"], ["go", "https://backend.example"])

    def test_rotated_key(self):
        """The first key is cached, and the second one fetched."""
        self.scenario("openid-rotated-key")
        program = self.start()
        for account in ["ada", "grace"]:
            self.assertEqual(program.sign_in(account)["claims"]["email"], f"{account}@example.com")

    def test_stale_key_set(self):
        self.fault(path="*/jwks", times=None, jwks="stale")
        self.assertIn("failed to verify", self.start().sign_in()["refused"])
