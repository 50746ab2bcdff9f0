"""Tests of the things that a team that uses django-allauth tries first."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
from pathlib import Path

from person import Person
from understudy_client import Understudy

PORT = os.environ["SITE_PORT"]
SITE = f"http://localhost:{PORT}"
PROVIDERS = ["apple", "facebook", "github", "google"]
WORLD = Understudy.from_environment().default


class Website(unittest.TestCase):
    environment = {}

    @classmethod
    def setUpClass(cls):
        environment = os.environ | cls.environment
        if "WALK_BY_SETTINGS" in os.environ:
            environment["PROVIDERS_AT"] = os.environ["UNDERSTUDY_URL"]
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.database = f"{folder.name}/site.sqlite"
        site = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "website.py"), PORT, cls.database],
            stdout=subprocess.PIPE, text=True, env=environment)
        cls.addClassCleanup(site.stdout.close)
        cls.addClassCleanup(site.wait)
        cls.addClassCleanup(site.terminate)
        assert site.stdout.readline() == "ready\n"

    def tearDown(self):
        WORLD.reset()

    def begin(self, person, provider, process="login"):
        """Presses the site's button for a provider, and returns the page to which it leads."""
        page = person.open(f"{SITE}/accounts/{provider}/login/?process={process}")
        self.assertEqual(page.status, 200, page.text)
        return person.submit(page, page.forms[-1])

    def sign_in(self, person, provider, process="login"):
        page = person.agree(self.begin(person, provider, process))
        self.assertEqual(page.status, 200, page.text)
        return page

    def home(self, person):
        return json.loads(person.open(f"{SITE}/").text)

    def stored(self):
        with sqlite3.connect(self.database) as database:
            return database.execute(
                "select provider, uid, user_id from socialaccount_socialaccount order by provider").fetchall()


class Correct(Website):
    def test_four_providers(self):
        """Someone comes with Apple, connects the others, and comes back with each of them."""
        ada = Person("ada")
        self.sign_in(ada, "apple")
        self.assertEqual(self.home(ada)["name"], "Ada")
        for provider in PROVIDERS[1:]:
            self.sign_in(ada, provider, process="connect")
        self.assertEqual(self.home(ada)["accounts"], PROVIDERS)
        stored = self.stored()
        self.assertEqual([provider for provider, _, _ in stored], PROVIDERS)
        self.assertEqual(len({user for _, _, user in stored}), 1)

        for provider in PROVIDERS:
            with self.subTest(provider):
                again = Person("ada")
                self.sign_in(again, provider)
                self.assertEqual(self.home(again)["user"], stored[0][2])
        self.assertEqual(self.stored(), stored)
        # Another person gets another account at the site.
        grace = Person("grace")
        self.sign_in(grace, "google")
        self.assertNotIn(self.home(grace)["user"], [None, stored[0][2]])
        WORLD.verify(refused=True, times=0)

    def test_cancel(self):
        stored = self.stored()
        for provider in PROVIDERS:
            with self.subTest(provider):
                person = Person("grace")
                page = person.cancel(self.begin(person, provider))
                self.assertTrue(urllib.parse.urlsplit(page.url).path.startswith("/accounts/"), page.url)
                self.assertIsNone(self.home(person)["user"])
        self.assertEqual(self.stored(), stored)


class Mistaken(Website):
    environment = {"GITHUB_SECRET": "github-secret-of-yesterday"}

    def test_wrong_secret(self):
        """Checks that the recording says why a sign-in failed. The site says only that it did."""
        person = Person("ada")
        page = person.agree(self.begin(person, "github"))
        self.assertIn("Third-Party Login Failure", page.text)
        self.assertNotIn("secret", page.text)
        self.assertIsNone(self.home(person)["user"])
        refused = WORLD.requests(refused=True)[-1]
        self.assertEqual(refused.path, "/login/oauth/access_token")
        self.assertIn("client_secret", refused.diagnosis)


if __name__ == "__main__":
    unittest.main()
