"""Sign-in by pop-up and by redirect as Firebase's web SDK does it, with our own gapi, in headless Chromium without a network."""

import urllib.parse

from selenium.webdriver.common.by import By

from support import wait
from web_app import WebAppTestCase

PROVIDERS = ["apple.com", "github.com", "google.com", "facebook.com", "oidc.corp"]
HANDLER = "https://closed-app.firebaseapp.com/__/auth/handler"


class PopUpsAndRedirects(WebAppTestCase):
    @classmethod
    def seed_text(cls):
        return {
            "google": {"clients": [{"clientID": "closed.apps.googleusercontent.com", "clientSecret": "s", "redirectURIs": [HANDLER]}]},
            "firebase": {"projects": [
                {"id": "demo-app", "providers": {"oidc.corp": {
                    "issuer": "https://login.corp.example", "clientID": "web", "clientSecret": "openid-secret-for-tests",
                    "responseType": "code"}}},
                {"id": "closed-app", "apiKeys": ["closed-key"], "authorizedDomains": [],
                 "providers": {"google.com": {"clientIDs": ["closed.apps.googleusercontent.com"]}}},
            ]},
        }

    def test_popups(self):
        for provider in PROVIDERS:
            with self.subTest(provider):
                self.control("reset")
                driver = self.open(self.page())
                signed_in = self.popup(driver, provider)
                self.assertEqual((signed_in.get("providerId"), signed_in.get("isNewUser")), (provider, True), signed_in)
                self.assertEqual(driver.execute_script("return storage"), True)
                again = self.popup(driver, provider, "reauthViaPopup")
                self.assertEqual(again.get("localId"), signed_in["localId"], again)
                anonymous = driver.execute_script("return api('signUp', {returnSecureToken: true})")
                taken = self.popup(driver, provider, "linkViaPopup", anonymous["idToken"])
                self.assertEqual(taken.get("errorMessage"), "FEDERATED_USER_ID_ALREADY_LINKED", taken)
                self.give_back(driver)

    def test_link(self):
        driver = self.open(self.page())
        anonymous = driver.execute_script("return api('signUp', {returnSecureToken: true})")
        linked = self.popup(driver, "github.com", "linkViaPopup", anonymous["idToken"])
        self.assertEqual((linked.get("localId"), linked.get("screenName")), (anonymous["localId"], "ada"), linked)

    def test_account_exists_with_another_credential(self):
        driver = self.open(self.page())
        google = self.popup(driver, "google.com")
        github = self.popup(driver, "github.com")
        self.assertEqual((github.get("needConfirmation"), github.get("verifiedProvider")), (True, ["google.com"]), github)
        again = self.popup(driver, "google.com")
        linked = driver.execute_script(
            "return api('signInWithIdp', {requestUri: 'http://localhost', postBody: `pendingToken=${arguments[0]}&providerId=github.com`,"
            "pendingToken: arguments[0], idToken: arguments[1], returnSecureToken: true})", github["pendingToken"], again["idToken"])
        self.assertEqual((linked.get("localId"), linked.get("providerId")), (google["localId"], "github.com"), linked)

    def test_cancelled_and_closed(self):
        driver = self.open(self.page())

        def cancel(driver):
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button[value=cancel]"))
            driver.find_element(By.CSS_SELECTOR, "button[value=cancel]").click()

        self.assertEqual(self.popup(driver, "google.com", act=cancel)["error"], "auth/user-cancelled")
        self.assertEqual(self.popup(driver, "google.com", act=lambda d: d.close())["error"], "auth/popup-closed-by-user")
        self.assertEqual(self.popup(driver, "twitter.com")["error"], "auth/operation-not-allowed")

    def test_redirects(self):
        for provider in PROVIDERS:
            with self.subTest(provider):
                self.control("reset")
                driver = self.open(self.page())
                signed_in = self.redirect(driver, provider)
                self.assertEqual((signed_in.get("providerId"), signed_in.get("isNewUser")), (provider, True), signed_in)
                driver.refresh()
                driver.execute_script("sessionStorage.setItem('pending', 'true')")
                self.assertEqual(self.result(driver)["error"], "auth/no-auth-event")
                self.give_back(driver)

    def test_redirects_between_sites_and_within_an_origin(self):
        """Browsers give a frame in a page of another site a storage of its own."""
        own = f"http://localhost:{self.web.server_port}"
        for page in [
            self.page(daemon=f"http://127.0.0.1:{self.port}"), self.page(host="127.0.0.1"),
            self.page(daemon=f"http://other.localhost:{self.port}"), self.page(daemon=own),
        ]:
            with self.subTest(page):
                self.control("reset")
                driver = self.open(page)
                signed_in = self.redirect(driver, "github.com")
                self.assertEqual(signed_in.get("screenName"), "ada", signed_in)
                driver.refresh()
                driver.execute_script("sessionStorage.setItem('pending', 'true')")
                self.assertEqual(self.result(driver)["error"], "auth/no-auth-event")
                self.assertEqual(self.popup(driver, "github.com").get("localId"), signed_in["localId"])
                self.give_back(driver)

    def test_a_page_of_another_domain_learns_nothing(self):
        driver = self.open(self.page(key="closed-key"))
        self.assertEqual(self.popup(driver, "google.com").get("providerId"), "google.com")
        self.give_back(driver)
        driver = self.open(self.page(host="evil.localhost", key="closed-key"))
        refused = {"error": "auth/unauthorized-domain", "urlResponse": None}
        # The handler refuses its address, and the frame a page that gives the address of another.
        self.assertEqual(self.popup(driver, "google.com", act=lambda d: None), refused)
        theirs = f"http://localhost:{self.web.server_port}/app"
        self.assertEqual(self.popup(driver, "google.com", "signInViaPopup", None, theirs), refused)

    def test_fake_credentials(self):
        """A project that no seed has: the handler asks by itself who signs in."""
        driver = self.open(self.page(key="demo-unseeded"))
        for provider in ["google.com", "twitter.com"]:
            signed_in = self.popup(driver, provider)
            self.assertEqual((signed_in.get("providerId"), signed_in.get("email")), (provider, "ada@example.com"), signed_in)
        self.assertEqual(self.redirect(driver, "google.com").get("email"), "ada@example.com")
        self.give_back(driver)
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.browser(width=width, height=844)
            query = {"apiKey": "demo-unseeded", "providerId": "oidc.any", "authType": "signInViaPopup"}
            driver.get(f"{self.origin}/emulator/auth/handler?{urllib.parse.urlencode(query)}")
            self.assertIn("Sign-in with oidc.any", driver.page_source)
            self.fits(driver, width)
            self.shot(driver, f"firebase-fake-{name}")

    def test_pages(self):
        """The pages that a person may see for longer than a moment."""
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.browser(width=width, height=844)
            driver.get(f"{self.origin}/emulator/auth/iframe?apiKey=demo-api-key&appName=a")
            self.assertIn("carries sign-in events", driver.page_source)
            self.fits(driver, width)
            self.shot(driver, f"firebase-frame-{name}")
            query = {"apiKey": "demo-api-key", "providerId": "google.com", "authType": "signInViaPopup", "redirectUrl": "https://evil.example/"}
            driver.get(f"{self.origin}/emulator/auth/handler?{urllib.parse.urlencode(query)}")
            self.assertIn("This domain is not authorized", driver.page_source)
            self.fits(driver, width)
            self.shot(driver, f"firebase-unauthorized-{name}")
            self.control("outcomes", {"provider": "google", "outcome": "approve", "account": "ada"})
            driver.get(f"{self.origin}/emulator/auth/handler?{urllib.parse.urlencode(query | {'redirectUrl': self.callback})}")
            wait(driver, lambda d: "Cross-Origin-Opener-Policy" in d.page_source, "a pop-up that nothing opened")
            self.fits(driver, width)
            self.shot(driver, f"firebase-no-opener-{name}")
