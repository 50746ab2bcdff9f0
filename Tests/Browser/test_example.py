"""The example web app in headless Chromium: whoever presses a button comes back signed in, also where Apple's page posts."""

import os
import pathlib
import subprocess
import sys

from selenium.webdriver.common.by import By

from support import BrowserTestCase, wait

APP = pathlib.Path(__file__).parents[2] / "examples/web/app.py"
ANSWERS = "button.person[value=ada], button[name=authorize][value='1'], button[name=action][value=continue]"


class Example(BrowserTestCase):
    @classmethod
    def seed_text(cls):
        # The app takes the place of the tests' own, at its port.
        cls.app.shutdown()
        cls.app.server_close()
        uris = [cls.callback]
        return {
            "apple": {"teams": [{"id": "A1B2C3D4E5", "services": [{
                "id": "com.example.web.local", "primaryApp": "com.example.app", "returnURLs": uris,
                "allowInsecureReturnURLs": True}]}]},
            "github": {"oauthApps": [{
                "clientID": "Iv1.0123456789abcdef", "clientSecret": "github-secret-for-tests", "callbackURLs": uris}]},
            "google": {"clients": [{
                "clientID": "example.apps.googleusercontent.com", "clientSecret": "google-secret-for-tests",
                "redirectURIs": uris}]},
            "facebook": {"apps": [{"appID": "1234567890", "appSecret": "facebook-secret-for-tests", "redirectURIs": uris}]},
        }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        places = {
            "APPLE_BASE_URL": "appleid.apple.com", "GITHUB_BASE_URL": "github.com", "GITHUB_API_URL": "api.github.com",
            "GOOGLE_BASE_URL": "accounts.google.com", "FACEBOOK_BASE_URL": "www.facebook.com",
            "FACEBOOK_GRAPH_URL": "graph.facebook.com"}
        environment = {name: f"{cls.origin}/{host}" for name, host in places.items()} | {
            "FIREBASE_AUTH_EMULATOR_HOST": f"localhost:{cls.port}", "CALLBACK_URL": cls.callback}
        port = cls.callback.removesuffix("/callback").rsplit(":", 1)[1]
        app = subprocess.Popen(
            [sys.executable, "-B", str(APP), port], stdout=subprocess.PIPE, text=True, env=os.environ | environment)
        cls.addClassCleanup(app.stdout.close)
        cls.addClassCleanup(app.wait)
        cls.addClassCleanup(app.terminate)
        cls.site = app.stdout.readline().split()[-1]

    def sign_in(self, driver, provider, mistake=None):
        driver.get(self.site)
        if mistake:
            driver.find_element(By.CSS_SELECTOR, f"option[value={mistake}]").click()
        driver.find_element(By.CSS_SELECTOR, f"button[value={provider}]").click()

        def is_back(driver):
            # A page of the app shows the result below the provider's name.
            return driver.current_url.startswith(self.site) and driver.find_elements(By.CSS_SELECTOR, ".kicker")

        pressed = set()

        def press(driver):
            """Answers the provider's pages until the browser is back at the app."""
            for button in [] if is_back(driver) else driver.find_elements(By.CSS_SELECTOR, ANSWERS)[:1]:
                if button.id not in pressed:
                    pressed.add(button.id)
                    button.click()
            return is_back(driver)

        wait(driver, press, provider)
        return driver.find_element(By.TAG_NAME, "main").text

    def test_every_provider(self):
        for provider in ["apple", "github", "google", "facebook", "firebase"]:
            with self.subTest(provider):
                driver = self.browser()
                self.assertIn("Hello, Ada Lovelace", self.sign_in(driver, provider))
                self.give_back(driver)

    def test_pages_fit(self):
        for width, dark in [(390, True), (1280, False)]:
            driver = self.browser(width=width, dark=dark)
            driver.get(self.site)
            self.fits(driver, width)
            self.shot(driver, f"example-home-{width}")
            self.assertIn("Hello, Ada Lovelace", self.sign_in(driver, "google"))
            self.fits(driver, width)
            self.shot(driver, f"example-signed-in-{width}")
            driver.find_element(By.CSS_SELECTOR, "button.quiet").click()
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button.apple"))
            self.assertIn("a code works once", self.sign_in(driver, "apple", "twice"))
            self.fits(driver, width)
            self.shot(driver, f"example-refused-{width}")
            self.give_back(driver)
