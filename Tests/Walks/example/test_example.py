"""The example web app, by someone who signs in with everything it offers."""

import json
import os
import re
import subprocess
import sys
import unittest
from html import unescape
from pathlib import Path

from person import Person
from understudy_client import Understudy

PORT = os.environ["SITE_PORT"]
SITE = f"http://localhost:{PORT}"
APP = Path(__file__).resolve().parents[3] / "examples/web/app.py"
WORLD = Understudy.from_environment().default


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        app = subprocess.Popen([sys.executable, str(APP), PORT], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(app.stdout.close)
        cls.addClassCleanup(app.wait)
        cls.addClassCleanup(app.terminate)
        assert app.stdout.readline() == f"The example is at {SITE}\n"

    def setUp(self):
        WORLD.reset()

    def begin(self, person, provider, mistake=""):
        home = person.open(SITE)
        button = ("provider", provider)
        form = home.form_with(*button)
        self.assertIsNotNone(form, home.text)
        form.fields.append(("mistake", mistake))
        return person.submit(home, form, *button)

    def sign_in(self, provider, mistake="", account="ada"):
        person = Person(account)
        return person, person.agree(self.begin(person, provider, mistake))

    def test_every_provider(self):
        for provider, told in [
            ("apple", "000340"), ("github", "1815"), ("google", "ada@example.com"), ("facebook", "ada@example.com"),
            ("firebase", "securetoken.google.com"),
        ]:
            with self.subTest(provider):
                person, page = self.sign_in(provider)
                self.assertEqual(page.status, 200, page.text)
                self.assertIn("<h1>Hello, Ada Lovelace</h1>", page.text)
                self.assertIn(told, page.text)
                # It is a session: the page shows it again, and no longer after leaving.
                self.assertIn("Ada Lovelace", person.open(SITE).text)
                home = person.submit(page, page.forms[0])
                self.assertIn("Sign in with Apple", home.text)
        WORLD.verify(refused=True, times=0)

    def test_id_tokens_are_shown(self):
        for provider, issuer in [
            ("apple", "https://appleid.apple.com"), ("google", "https://accounts.google.com"),
            ("firebase", "https://securetoken.google.com/demo-app"),
        ]:
            _, page = self.sign_in(provider)
            claims = json.loads(unescape(re.search("<h3>Claims</h3><pre>(.*?)</pre>", page.text, re.DOTALL)[1]))
            self.assertEqual(claims["iss"], issuer)

    def test_cancel(self):
        for provider in ["apple", "github", "google", "facebook", "firebase"]:
            with self.subTest(provider):
                person = Person("grace")
                page = person.cancel(self.begin(person, provider))
                self.assertEqual(page.status, 403, page.text)
                self.assertRegex(page.text, "access_denied|user_cancelled_authorize")
                self.assertIn("Sign in with Apple", person.open(SITE).text)

    def test_mistakes(self):
        """Checks that each mistake that the app makes on request is refused, and that the page shows the answer and the
        reason."""
        for provider, mistake, said, reason in [
            ("apple", "twice", "already been used", "a code works once"),
            ("apple", "secret", "invalid_client", "JWT"),
            ("apple", "redirect", "invalid_", "redirect_uri"),
            ("github", "secret", "incorrect_client_credentials", "client_secret"),
            ("github", "redirect", "redirect_uri_mismatch", "redirect_uri"),
            ("github", "verifier", "bad_verification_code", "code_verifier"),
            ("github", "twice", "bad_verification_code", "a code works once"),
            ("google", "twice", "invalid_grant", "a code works once"),
            ("google", "secret", "invalid_client", "client_secret"),
            ("google", "verifier", "invalid_grant", "code_verifier"),
            ("google", "redirect", "redirect_uri_mismatch", "redirect"),
            ("facebook", "twice", "OAuthException", "code"),
            ("facebook", "secret", "OAuthException", "client_secret"),
            ("facebook", "redirect", "OAuthException", "redirect_uri"),
            ("firebase", "twice", "INVALID_IDP_RESPONSE", "state"),
            ("firebase", "verifier", "INVALID_IDP_RESPONSE", "session"),
        ]:
            with self.subTest(f"{provider}, {mistake}"):
                _, page = self.sign_in(provider, mistake)
                self.assertEqual(page.status, 403, page.text)
                shown = re.search("<h2>What was said</h2>(.*?)<h2>Why</h2>(.*?)<p><a", page.text, re.DOTALL)
                self.assertIn(said, unescape(shown[1]))
                self.assertIn(reason, unescape(shown[2]))

    def test_tokens_that_are_not_believed(self):
        for token, complaint in [
            ({"signature": "invalid"}, "the signature isn't"), ({"signature": "unknownKey"}, "no published key"),
            ({"signature": "wrongAlgorithm"}, "HS256"), ({"signature": "none"}, "none"),
            ({"claims": {"aud": "another"}}, "aud is"), ({"claims": {"exp": "-1h"}}, "expired"),
        ]:
            for provider in ["apple", "google"]:
                with self.subTest(f"{provider}, {token}"):
                    WORLD.fault(path="*/token", token=token)
                    _, page = self.sign_in(provider)
                    self.assertEqual(page.status, 403, page.text)
                    self.assertIn(complaint, unescape(page.text))
        for provider in ["apple", "google"]:
            _, page = self.sign_in(provider, "nonce")
            self.assertIn("nonce is", unescape(page.text))

    def test_state_of_another(self):
        """Someone else's link to the callback signs nobody in."""
        person = Person()
        page = person.open(f"{SITE}/callback?code=a&state=b")
        self.assertEqual(page.status, 403)
        self.begin(person, "google")
        page = person.open(f"{SITE}/callback?code=a&state=b")
        self.assertIn("the state isn't the one", unescape(page.text))


if __name__ == "__main__":
    unittest.main()
