"""OpenID Connect in a Django site: mozilla-django-oidc and Authlib."""

import subprocess
import sys
import time

from joserfc.jwk import RSAKey

from issuer import APPS, SECRET, Browser, IssuerTestCase


class DjangoSite(IssuerTestCase):
    @classmethod
    def clients(cls):
        return [
            {"clientID": "mozilla", "clientSecret": SECRET, "redirectURIs": ["http://localhost:*/oidc/callback/"],
             "postLogoutRedirectURIs": ["http://localhost:*/"], "pkce": "required"},
            {"clientID": "authlib", "redirectURIs": ["http://localhost:*/authlib/callback"],
             "postLogoutRedirectURIs": ["http://localhost:*/authlib/bye"], "pkce": "required",
             "tokenEndpointAuthMethod": "private_key_jwt", "jwks": {"keys": [cls.key.as_dict(private=False)]},
             "idTokenAlgorithm": "PS256"},
        ]

    @classmethod
    def setUpClass(cls):
        cls.key = RSAKey.generate_key(2048)
        super().setUpClass()
        key = cls.folder / "key.pem"
        key.write_bytes(cls.key.as_pem(private=True))
        site = subprocess.Popen(
            [sys.executable, "-B", str(APPS / "django_site.py"), cls.issuer, str(key), str(cls.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(site.stdout.close)
        cls.addClassCleanup(site.wait)
        cls.addClassCleanup(site.terminate)
        cls.site = f"http://localhost:{int(site.stdout.readline())}"


class MozillaDjangoOIDC(DjangoSite):
    def sign_in(self, browser):
        return browser.get(f"{self.site}/private")

    def test_sign_in_and_logout(self):
        browser = Browser()
        answer = self.sign_in(browser)
        self.assertEqual((answer.status_code, answer.json()["email"]), (200, "ada@example.com"), answer.text)
        self.assertEqual(browser.get(f"{self.site}/").text, "signed in")
        answer = browser.follow(browser.session.post(f"{self.site}/oidc/logout/", allow_redirects=False))
        self.assertEqual((answer.url, answer.text), (f"{self.site}/", "signed out"))
        # The issuer's session has ended, too, so the issuer asks again who signs in.
        browser.account = "grace"
        self.assertEqual(self.sign_in(browser).json()["email"], "grace@example.com")
        self.assertEqual(len(browser.pages), 2)

    def test_session_is_renewed_silently(self):
        """The middleware asks with prompt=none when its session is old."""
        browser = Browser()
        first = self.sign_in(browser).json()["id_token"]
        time.sleep(2.1)
        self.assertNotEqual(self.sign_in(browser).json()["id_token"], first)
        self.assertEqual(len(browser.pages), 1)
        self.daemon.control("openid/logouts", issuer="corp", account="ada")
        time.sleep(2.1)
        answer = self.sign_in(browser)
        self.assertEqual((answer.status_code, answer.text), (403, "failed"))
        self.assertEqual(browser.get(f"{self.site}/").text, "signed out")

    def test_refusals(self):
        for broken in [{"claims": {"nonce": "another"}}, {"signature": "unknownKey"}, {"signature": "invalid"},
                       {"signature": "wrongAlgorithm"}, {"claims": {"exp": "-1h"}}]:
            with self.subTest(broken):
                self.break_token(**broken)
                browser = Browser()
                self.assertGreaterEqual(self.sign_in(browser).status_code, 400)
                self.assertEqual(browser.get(f"{self.site}/").text, "signed out")

    def test_cancel(self):
        self.daemon.control("outcomes", provider="openid", outcome="cancel")
        self.assertEqual(self.sign_in(Browser()).text, "failed")

    def test_rotated_key(self):
        self.scenario("openid-rotated-key")
        for account in ["ada", "grace"]:
            answer = self.sign_in(Browser(account))
            self.assertEqual(answer.json()["email"], f"{account}@example.com")


class Authlib(DjangoSite):
    def sign_in(self, browser):
        return browser.get(f"{self.site}/authlib/login")

    def test_sign_in(self):
        """A client that authenticates with a key, and checks a PS256 ID token."""
        answer = self.sign_in(Browser())
        self.assertEqual(answer.status_code, 200, answer.text)
        claims = answer.json()["userinfo"]
        self.assertEqual(
            [claims[name] for name in ("iss", "aud", "email", "name", "groups", "department")],
            [self.issuer, "authlib", "ada@example.com", "Ada Example", ["engineers", "admins"], "engines"])

    def test_refresh(self):
        browser = Browser()
        token = self.sign_in(browser).json()
        answer = browser.get(f"{self.site}/authlib/userinfo").json()
        self.assertEqual(answer["userinfo"]["sub"], token["userinfo"]["sub"])
        self.assertEqual(len(answer["renewed"]), 1)
        for name in ("access_token", "refresh_token"):
            self.assertNotEqual(answer["renewed"][0][name], token[name])

    def test_logout(self):
        browser = Browser()
        self.sign_in(browser)
        answer = browser.get(f"{self.site}/authlib/logout")
        self.assertEqual(answer.json()["bye"], f"{self.site}/authlib/bye")
        self.sign_in(browser)
        self.assertEqual(len(browser.pages), 2)

    def test_refusals(self):
        for broken, complaint in [
            ({"claims": {"nonce": "another"}}, "nonce"), ({"claims": {"iss": "https://login.other.example"}}, "iss"),
            ({"claims": {"aud": "another"}}, "azp"), ({"claims": {"at_hash": "AAAA"}}, "at_hash"),
            ({"signature": "invalid"}, "bad_signature"),
        ]:
            with self.subTest(broken):
                self.break_token(**broken)
                answer = self.sign_in(Browser())
                self.assertEqual(answer.status_code, 400)
                self.assertIn(complaint, answer.json()["refused"])

    def test_state_of_another(self):
        self.fault(path="*/authorize", state="wrong")
        self.assertIn("state", self.sign_in(Browser()).json()["refused"])

    def test_rotated_key(self):
        """A key that isn't in the cached set is looked for once more."""
        self.scenario("openid-rotated-key")
        for account in ["ada", "grace"]:
            answer = self.sign_in(Browser(account))
            self.assertEqual(answer.json()["userinfo"]["email"], f"{account}@example.com")
