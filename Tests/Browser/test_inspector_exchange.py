"""One exchange taken apart, two of them compared, and what a person pastes to be explained."""

import hashlib
import json
import unittest
import urllib.parse

from inspector import InspectorTestCase
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from support import wait

RAW = "eKzHrxuPcjvgqQLk0sJfUmaWOEYRnt7V"
HASH = hashlib.sha256(RAW.encode()).hexdigest()


class Exchanges(InspectorTestCase):
    def firebase(self, nonce, raw=RAW):
        """Sign in with Apple at Firebase: the ID of the exchange with Firebase."""
        native = self.control("apple/authorizations", {
            "client": "com.example.app", "account": "ada", "scopes": ["email", "fullName"], "nonce": nonce})
        body = urllib.parse.urlencode({"providerId": "apple.com", "id_token": native["identityToken"], "nonce": raw})
        self.ask(
            "identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            {"Content-Type": "application/json"},
            json.dumps({"requestUri": "http://localhost", "postBody": body, "returnSecureToken": True}).encode())
        return self.last("/v1/accounts:signInWithIdp")

    def last(self, path):
        answer = json.loads(self.ask(f"_understudy/v1/requests?path={urllib.parse.quote(path)}&limit=1")[1])
        return answer["requests"][-1]["id"]

    def heading(self, driver, text):
        wait(driver, lambda d: text in d.find_element(By.TAG_NAME, "h1").text, text)

    def main(self, driver):
        return driver.find_element(By.ID, "main").text

    def test_refused_nonce_is_explained_on_the_page(self):
        good, bad = self.firebase(HASH), self.firebase(RAW)
        driver = self.looks(f"requests/{bad}", "exchange")
        self.assertIn("raw nonce itself was sent to Apple", driver.find_element(By.ID, "diagnosis").text)
        wrong = driver.find_elements(By.CSS_SELECTOR, "tr.exchange-wrong th")
        self.assertEqual([name.text for name in wrong], ["nonce"])
        # From the claim to the exchange that it speaks of, and back by the browser.
        driver.find_element(By.CSS_SELECTOR, "tr.exchange-wrong a").send_keys(Keys.ENTER)
        self.heading(driver, "apple/authorizations")
        driver.back()
        self.heading(driver, "signInWithIdp")
        # The last one that worked stands chosen.
        driver.find_element(By.CSS_SELECTOR, "form button").send_keys(Keys.ENTER)
        self.heading(driver, f"{bad} beside {good}")
        self.assertIn(HASH, self.main(driver))

    def test_comparison_is_accessible(self):
        good, bad = self.firebase(HASH), self.firebase(RAW)
        self.looks(f"requests/{bad}?with={good}", "comparison")

    def test_without_scripts(self):
        bad = self.firebase(RAW)
        driver = self.browser(scripts=False)
        driver.get(self.page(f"requests/{bad}"))
        self.assertIn("signed by Apple's key", self.main(driver))
        self.assertFalse(driver.find_element(By.CSS_SELECTOR, "[data-copy-from=command]").is_displayed())
        driver.find_element(By.CSS_SELECTOR, "details.exchange-long summary").send_keys(Keys.ENTER)
        self.assertIn("eyJ", driver.find_element(By.CSS_SELECTOR, "details.exchange-long[open] > code").text)

    def test_command_is_copied(self):
        bad = self.firebase(RAW)
        driver = self.browser()
        driver.get(self.page(f"requests/{bad}"))
        driver.execute_script(
            "navigator.clipboard.writeText=async text=>{window.copied=text}")
        driver.find_element(By.CSS_SELECTOR, "[data-copy-from=command]").send_keys(Keys.ENTER)
        copied = driver.execute_script("return window.copied")
        self.assertTrue(copied.startswith("curl -i "))
        self.assertIn(f"{self.origin}/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp", copied)

    def test_keyboard_alone_reaches_the_command(self):
        bad = self.firebase(RAW)
        driver = self.browser()
        driver.get(self.page(f"requests/{bad}"))
        reached = driver.execute_script(
            "const all=[...document.querySelectorAll('main a,main button,main select,main summary,main [tabindex=\"0\"]')];"
            "return all.every(e=>{e.focus();return e.checkVisibility()===false||document.activeElement===e})")
        self.assertTrue(reached)

    def test_print_leaves_the_menu_out(self):
        bad = self.firebase(RAW)
        driver = self.browser()
        driver.get(self.page(f"requests/{bad}"))
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertFalse(driver.find_element(By.CSS_SELECTOR, "nav.menu").is_displayed())
        self.assertTrue(driver.find_element(By.ID, "diagnosis").is_displayed())


class Explain(InspectorTestCase):
    def explain(self, driver, value, nonce=""):
        driver.get(self.page("explain"))
        for name, text in [("value", value), ("raw-nonce", nonce)]:
            field = driver.find_element(By.ID, name)
            field.clear()
            field.send_keys(text)
        return self.sent(driver)

    def sent(self, driver):
        driver.find_element(By.CSS_SELECTOR, "form.explain-form button").send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.ID, "result"), "the explanation")
        return driver.find_element(By.ID, "main").text

    def token(self, **order):
        return self.control("tokens", {"provider": "apple", "client": "com.example.app", "account": "ada", **order})["token"]

    def test_page_is_accessible_before_and_after(self):
        self.looks("explain", "explain-empty")
        token = self.token(nonce=RAW, claims={"exp": "-1h"}, signature="wrongAlgorithm")
        self.looks("explain", "explain", prepare=lambda driver: self.explain(driver, token, RAW))

    def test_token_and_nonce(self):
        driver = self.browser()
        text = self.explain(driver, self.token(nonce=HASH), RAW)
        self.assertIn("the SHA-256 of the raw nonce that was given here", text)
        self.assertIn("nothing wrong", text)
        self.assertNotIn("eyJ", driver.current_url)
        self.assertIn("raw nonce itself was sent to Apple", self.explain(driver, self.token(nonce=RAW), RAW))

    def test_without_scripts_in_a_world_of_its_own(self):
        driver = self.browser(scripts=False)
        driver.get(f"{self.origin}/~other/_understudy/explain")
        driver.find_element(By.ID, "value").send_keys("https://app.example/cb?error=access_denied&state=abcdefgh")
        text = self.sent(driver)
        self.assertIn("A callback URL", text)
        self.assertIn("denied the sign-in: offer it again", text)
        self.assertIn("/~other/", driver.current_url)

    def test_two_windows(self):
        driver = self.browser()
        driver.get(self.page("explain"))
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        self.explain(driver, RAW)
        driver.switch_to.window(first)
        driver.find_element(By.ID, "value").send_keys("a-nonce-of-the-first-window")
        self.assertIn("Perhaps a raw nonce", self.sent(driver))


if __name__ == "__main__":
    unittest.main()
