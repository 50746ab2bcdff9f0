"""GitHub's pages in headless Chromium: sign-in, consent, device and connections, by keyboard and at both widths."""

import json
import urllib.parse
import urllib.request

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from support import App, BrowserTestCase, wait

CLIENT = "Iv1.0123456789abcdef"


class GitHubSignIn(BrowserTestCase):
    @classmethod
    def seed_text(cls):
        return {"github": {"oauthApps": [{"clientID": CLIENT, "exactCallbackURLs": [cls.callback]}]}}

    def github(self, path, **query):
        return f"{self.origin}/github.com{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")

    def authorize(self, **changes):
        query = {"client_id": CLIENT, "redirect_uri": self.callback, "scope": "repo user:email", "state": "s 1"}
        return self.github("/login/oauth/authorize", **(query | changes))

    def post(self, path, **form):
        request = urllib.request.Request(
            self.github(path), data=urllib.parse.urlencode(form).encode(), headers={"Accept": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def heading(self, driver, text):
        wait(driver, lambda d: text in d.find_element(By.TAG_NAME, "h1").text, text)

    def press(self, driver, key=Keys.ENTER):
        driver.switch_to.active_element.send_keys(key)

    def sign_in(self, driver, login, path="/settings/applications"):
        driver.get(self.github("/login", return_to=path))
        self.person(driver, login).click()

    def test_wide(self):
        """By mouse: sign in, leave a scope out, authorize; the second time there is no page at all."""
        driver = self.browser()
        driver.get(self.authorize())
        self.shot(driver, "github-people-wide")
        self.person(driver, "ada").click()
        self.heading(driver, "Authorize Example?")
        self.shot(driver, "github-consent-wide")
        driver.find_element(By.CSS_SELECTOR, "input[value=repo]").click()
        driver.find_element(By.CSS_SELECTOR, "button[name=authorize][value='1']").click()
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        got = App.seen[-1]["query"]
        self.assertEqual((got["state"], got["iss"]), ("s 1", "https://github.com/login/oauth"))
        token = self.post(
            "/login/oauth/access_token", client_id=CLIENT, client_secret="github-secret-for-tests", code=got["code"])
        self.assertEqual(token["scope"], "user:email")
        driver.get(self.authorize(scope="user:email"))
        wait(driver, lambda d: len(App.seen) == 2)
        self.assertIn("code", App.seen[-1]["query"])

    def test_keyboard_phone_dark(self):
        """Tab and Enter are enough, on a phone's width, in the dark."""
        driver = self.browser(width=390, height=844, dark=True)
        driver.get(self.authorize(login="grace"))
        self.fits(driver, 390)
        self.shot(driver, "github-people-phone-dark")
        self.assertIn("grace", driver.switch_to.active_element.text)
        self.press(driver)
        self.heading(driver, "Authorize Example?")
        self.fits(driver, 390)
        self.shot(driver, "github-consent-phone-dark")
        self.assertIn("Authorize", driver.switch_to.active_element.text)
        self.press(driver, Keys.TAB)
        self.assertEqual(driver.switch_to.active_element.text, "Cancel")
        self.press(driver)
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertEqual(App.seen[-1]["query"]["error"], "access_denied")
        self.assertEqual(
            App.seen[-1]["query"]["error_description"], "The user has denied your application access.")

    def test_no_scripts(self):
        driver = self.browser(scripts=False)
        driver.get(self.authorize())
        self.person(driver, "ada").click()
        self.heading(driver, "Authorize Example?")
        driver.find_element(By.CSS_SELECTOR, "button[name=authorize][value='1']").click()
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertIn("code", App.seen[-1]["query"])

    def test_new_account(self):
        driver = self.browser(width=390, height=844)
        driver.get(self.authorize())
        driver.find_element(By.PARTIAL_LINK_TEXT, "Create an account").click()
        self.fits(driver, 390)
        driver.find_element(By.NAME, "login").send_keys("ada", Keys.TAB, "x@example.com", Keys.ENTER)
        wait(driver, lambda d: "is taken" in d.page_source)
        self.shot(driver, "github-signup-phone")
        field = driver.find_element(By.NAME, "login")
        field.clear()
        field.send_keys("newbie", Keys.ENTER)
        self.heading(driver, "Authorize Example?")
        self.assertIn("newbie", driver.page_source)

    def test_device(self):
        """The code is typed without its hyphen; a wrong one is told beside the field."""
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            begun = self.post("/login/device/code", client_id=CLIENT, scope="gist")
            driver = self.browser(width=width, height=height)
            self.sign_in(driver, "grace", "/login/device")
            self.heading(driver, "Connect a device")
            self.shot(driver, f"github-device-{name}")
            driver.switch_to.active_element.send_keys("0000-000X", Keys.ENTER)
            wait(driver, lambda d: d.find_elements(By.ID, "fault"))
            self.shot(driver, f"github-device-fault-{name}")
            self.fits(driver, width)
            field = driver.find_element(By.NAME, "user_code")
            field.clear()
            field.send_keys(begun["user_code"].replace("-", "").lower(), Keys.ENTER)
            self.heading(driver, "Authorize Example?")
            self.shot(driver, f"github-device-consent-{name}")
            self.fits(driver, width)
            self.press(driver)
            wait(driver, lambda d: "Authorize Example?" not in d.page_source)
            self.shot(driver, f"github-device-done-{name}")
            token = self.post(
                "/login/oauth/access_token", client_id=CLIENT, device_code=begun["device_code"],
                grant_type="urn:ietf:params:oauth:grant-type:device_code")
            self.assertEqual(token["scope"], "gist")

    def test_connections(self):
        self.control("outcomes", {"provider": "github", "outcome": "approve", "account": "ada"})
        with urllib.request.urlopen(self.authorize()):
            pass
        for width, height, name in [(390, 844, "phone"), (1280, 900, "wide")]:
            driver = self.browser(width=width, height=height)
            self.sign_in(driver, "ada")
            self.heading(driver, "Authorized apps")
            self.shot(driver, f"github-connections-{name}")
            driver.find_element(By.PARTIAL_LINK_TEXT, "Example (").click()
            self.heading(driver, "Example")
            self.shot(driver, f"github-connection-{name}")
            self.fits(driver, width)
        driver.find_element(By.CSS_SELECTOR, "button[value=revoke]").click()
        self.heading(driver, "Access revoked")
        driver.find_element(By.PARTIAL_LINK_TEXT, "All authorized apps").click()
        wait(driver, lambda d: "None." in d.page_source)

    def test_error_pages(self):
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            driver = self.browser(width=width, height=height)
            for address, heading, shot in [
                (self.authorize(redirect_uri="https://evil.example/" + "x" * 80), "Be careful!", "mismatch"),
                (self.authorize(client_id="nothing"), "This page doesn't exist", "unknown"),
            ]:
                driver.get(address)
                self.heading(driver, heading)
                self.fits(driver, width)
                self.shot(driver, f"github-{shot}-{name}")
