"""A look around without an app: "Try one", each provider's page, the daemon's own callback page, and the code redeemed."""

import time
import unittest

from inspector import InspectorTestCase
from selenium.webdriver.common.by import By
from support import wait

# These are the buttons that a person presses at each provider.
STEPS = {
    "Apple": ["Ada Lovelace", "Continue"],
    "GitHub": ["ada", "Authorize"],
    "Google": ["Ada Lovelace", "Continue"],
    "Facebook": ["Ada Lovelace", "Continue as"],
    "Microsoft": ["Ada Lovelace", "Accept"],
    "Example Corp": ["Ada Lovelace"],
}


class TryOut(InspectorTestCase):
    def press(self, driver, words):
        button = wait(driver, lambda d: next(
            (b for b in d.find_elements(By.TAG_NAME, "button") if words in b.text), None), words)
        button.click()

    def signed_in(self, driver, title):
        driver.get(self.page("setup"))
        driver.find_element(By.PARTIAL_LINK_TEXT, f"Sign in with {title}").click()
        for words in STEPS[title]:
            self.press(driver, words)
        wait(driver, lambda d: "/_understudy/callback" in d.current_url and "came back from" in d.title, title)

    def test_each_provider_ends_with_who_signed_in(self):
        for title in STEPS:
            with self.subTest(title):
                driver = self.browser()
                self.signed_in(driver, title)
                self.check_accessible(driver, f"the callback page of {title}")
                self.press(driver, "Redeem it")
                wait(driver, lambda d: d.find_element(By.TAG_NAME, "h1").text == "Ada Lovelace signed in", title)
                self.check_accessible(driver, f"the tokens of {title}")
                driver.get(self.page())
                self.assertIn("Signed in", driver.find_element(By.CSS_SELECTOR, "#flows > li").text)

    def test_the_empty_list_offers_all(self):
        driver = self.looks("", "empty")
        links = [link.text for link in driver.find_elements(By.CSS_SELECTOR, ".try-out a")]
        self.assertEqual(links, [f"Sign in with {title}" for title in STEPS])

    def test_what_comes_in_the_fragment_is_shown(self):
        driver = self.browser()
        driver.get(self.page("callback#error=access_denied&state=s"))
        wait(driver, lambda d: "access_denied" in d.find_element(By.TAG_NAME, "h1").text)

    def test_nothing_scrolls_sideways_on_the_narrowest_phone(self):
        driver = self.browser()
        for path in ["", "setup", "inbox", "orders", "orders/scenarios/credential-already-linked", "help", "help/web",
                     "help/backend", "help/errors/openid", "worlds/seed", "callback"]:
            with self.subTest(path):
                self.size(driver, 320, 640)
                driver.get(self.page(path))
                self.fits(driver, 320)

    def test_the_filter_works_as_it_is_typed(self):
        driver = self.browser()
        for client in ["first-app", "second-app"]:
            self.ask(f"github.com/login/oauth/authorize?client_id={client}")
        driver.get(self.page())
        rows = lambda d: d.find_elements(By.CSS_SELECTOR, "#flows > li")
        self.assertEqual(len(rows(driver)), 2)
        driver.find_element(By.NAME, "client").send_keys("first")
        wait(driver, lambda d: len(rows(d)) == 1 and "first-app" in rows(d)[0].text)
        self.assertIn("client=first", driver.current_url)
        # Sign-ins that come later are filtered, too.
        self.ask("github.com/login/oauth/authorize?client_id=third-app")
        self.ask("github.com/login/oauth/authorize?client_id=first-app")
        wait(driver, lambda d: len(rows(d)) == 2)
        time.sleep(0.5)
        self.assertTrue(all("first-app" in row.text for row in rows(driver)))
        self.assertEqual(driver.switch_to.active_element.get_attribute("name"), "client")

    def test_a_provider_s_refusal_leads_to_the_request_and_registers_what_was_missing(self):
        driver = self.browser()
        url = (f"{self.origin}/accounts.google.com/o/oauth2/v2/auth?client_id=example.apps.googleusercontent.com"
               "&redirect_uri=http://localhost:3001/callback&response_type=code&scope=openid")
        driver.get(url)
        self.assertEqual([mark.text for mark in driver.find_elements(By.TAG_NAME, "mark")], ["1", "0"])
        driver.find_element(By.LINK_TEXT, "See this request").click()
        self.assertIn("/_understudy/requests/r", driver.current_url)
        driver.get(url)
        driver.find_element(By.LINK_TEXT, "Add the missing entry to the seed of this test world").click()
        self.press(driver, "Change the seed")
        driver.get(url)
        self.assertNotIn("redirect_uri_mismatch", driver.page_source)


if __name__ == "__main__":
    unittest.main()
