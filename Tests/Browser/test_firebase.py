"""Firebase's web sign-in handler in headless Chromium, through the real pages of all four providers."""

import json
import urllib.parse
import urllib.request

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from support import App, BrowserTestCase, wait


class FirebaseHandler(BrowserTestCase):
    def handler(self, provider, **more):
        query = {
            "apiKey": "demo-api-key", "appName": "[DEFAULT]", "authType": "signInViaPopup", "eventId": "42",
            "providerId": provider, "scopes": "", "customParameters": "{}", "redirectUrl": self.callback,
        }
        return f"{self.origin}/emulator/auth/handler?{urllib.parse.urlencode(query | more)}"

    def assertion(self, url, **more):
        body = {"requestUri": url, "returnSecureToken": True} | more
        request = urllib.request.Request(
            f"{self.origin}/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def opened(self, provider, width=1280, height=900, **more):
        """Opens a pop-up at the provider's page. Its opener keeps the messages that it gets."""
        driver = self.browser(width=width, height=height)
        driver.get(f"http://localhost:{self.app.server_port}/popup")
        driver.execute_script("window.open(arguments[0],'p','width=500,height=600')", self.handler(provider, **more))
        opener, popup = driver.window_handles
        driver.switch_to.window(popup)
        return driver, opener

    def told(self, driver, opener):
        driver.switch_to.window(opener)
        origin, data = wait(driver, lambda d: d.execute_script("return got[0]"))
        self.assertEqual(origin, self.origin)
        return data["data"]["authEvent"]

    def consent(self, driver, provider):
        self.person(driver, "ada" if provider == "github.com" else "Ada").click()
        button = {
            "apple.com": "button[value=continue]", "github.com": "button[name=authorize][value='1']",
        }.get(provider, "button[value=continue]")
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, button))
        self.shot(driver, f"{provider}-consent-wide")
        driver.find_element(By.CSS_SELECTOR, button).click()

    def test_popups(self):
        for provider in ["apple.com", "github.com", "google.com", "facebook.com"]:
            with self.subTest(provider):
                driver, opener = self.opened(provider)
                self.consent(driver, provider)
                wait(driver, lambda d: len(d.window_handles) == 1)
                event = self.told(driver, opener)
                self.assertEqual((event["eventId"], event["error"]), ("42", None))
                signed_in = self.assertion(event["urlResponse"])
                self.assertEqual(signed_in["providerId"], provider)
                self.give_back(driver)
                self.control("reset")

    def test_cancel(self):
        driver, opener = self.opened("google.com")
        driver.find_element(By.CSS_SELECTOR, "button[value=cancel]").click()
        wait(driver, lambda d: len(d.window_handles) == 1)
        self.assertEqual(self.told(driver, opener)["error"]["code"], "auth/user-cancelled")

    def test_redirect(self):
        """Without an opener the event waits in session storage, and the browser goes back to the app."""
        driver = self.browser(width=390, height=844, dark=True)
        driver.get(self.handler("google.com", authType="signInViaRedirect"))
        self.fits(driver, 390)
        self.shot(driver, "google-people-phone-dark")
        driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button[value=continue]"))
        self.fits(driver, 390)
        self.shot(driver, "google-consent-phone-dark")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertEqual(len(App.seen), 1)
        driver.get(f"{self.origin}/emulator/auth/iframe?apiKey=demo-api-key&appName=%5BDEFAULT%5D")
        event = json.loads(driver.execute_script("return sessionStorage.getItem('demo-api-key:[DEFAULT]')"))
        self.assertEqual(event["type"], "signInViaRedirect")
        self.assertTrue(self.assertion(event["urlResponse"])["isNewUser"])

    def password_link(self):
        """Returns the link for a new password from the mail in the inbox."""
        api = f"{self.origin}/identitytoolkit.googleapis.com/v1/accounts"
        for operation, body in [
            ("signUp", {"email": "grace@example.org", "password": "the old one"}),
            ("sendOobCode", {"requestType": "PASSWORD_RESET", "email": "grace@example.org"}),
        ]:
            urllib.request.urlopen(urllib.request.Request(
                f"{api}:{operation}?key=demo-api-key", data=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"})).close()
        with urllib.request.urlopen(f"{self.origin}/emulator/v1/projects/demo-app/oobCodes") as answer:
            return json.load(answer)["oobCodes"][-1]["oobLink"]

    def test_password_page(self):
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            with self.subTest(name):
                self.control("reset")
                link = self.password_link()
                driver = self.browser(width=width, height=height, dark=name == "phone")
                driver.get(link)
                self.fits(driver, width)
                self.shot(driver, f"firebase-password-{name}")
                driver.switch_to.active_element.send_keys("short", Keys.ENTER)
                wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "[role=alert]"))
                self.assertIn("WEAK_PASSWORD", driver.page_source)
                self.fits(driver, width)
                self.shot(driver, f"firebase-password-weak-{name}")
                driver.switch_to.active_element.send_keys("long enough", Keys.ENTER)
                wait(driver, lambda d: "successfully updated" in d.page_source)
                self.shot(driver, f"firebase-password-done-{name}")
                driver.get(link)
                self.assertIn("This link doesn", driver.page_source)
                self.fits(driver, width)
                self.shot(driver, f"firebase-link-used-{name}")

    def test_error_page(self):
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            driver = self.browser(width=width, height=height)
            driver.get(self.handler("google.com", apiKey="unknown" * 20))
            self.fits(driver, width)
            self.shot(driver, f"firebase-error-{name}")
            driver.get(f"{self.origin}/accounts.google.com/o/oauth2/v2/auth?client_id=unknown&redirect_uri=http://localhost:3000/callback&response_type=code&scope=openid")
            self.assertIn("Error 401: invalid_client", driver.page_source)
            self.fits(driver, width)
            self.shot(driver, f"google-error-{name}")
