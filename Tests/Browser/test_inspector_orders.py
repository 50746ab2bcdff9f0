"""Orders, scenarios, tokens, the clock, worlds and the pages that set clients up, in a browser."""

import json
import time
import unittest
import urllib.parse

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from inspector import InspectorTestCase
from support import wait

CSS = By.CSS_SELECTOR
TOKEN = "provider=apple&endpoint=" + urllib.parse.quote("POST appleid.apple.com/auth/token")


class OrdersTests(InspectorTestCase):
    def browser(self, **options):
        driver = super().browser(**options)
        # A page that is still scrolling smoothly can't be clicked.
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]})
        return driver

    def outcomes(self):
        return json.loads(self.ask("_understudy/v1/outcomes")[1])["outcomes"]

    def faults(self):
        return json.loads(self.ask("_understudy/v1/faults")[1])["faults"]

    def says(self, driver, words, place="main"):
        """Waits until the page shows these words, since the answer to a form may take a moment."""
        return wait(driver, lambda d: any(words in e.text for e in d.find_elements(CSS, place)), words)

    def button(self, driver, text):
        return next(b for b in driver.find_elements(CSS, "main button") if b.text == text)

    def test_looks(self):
        self.control("scenarios/provider-outage")
        self.control("outcomes", {"provider": "apple", "outcome": "approve", "account": "grace", "times": 3})
        self.ask("appleid.apple.com/auth/token", data=b"x=1")
        driver = self.browser()
        for path, name in [
            ("orders", "orders"), (f"orders/fault?{TOKEN}", "orders-fault"),
            ("orders/sign-in?provider=apple", "orders-sign-in"), ("orders/tokens?provider=google", "orders-token"),
            ("orders/scenarios", "scenarios"), ("orders/scenarios/provider-outage", "scenario"), ("clock", "clock"),
            ("worlds", "worlds"), ("worlds/seed", "seed"), ("setup", "setup"), ("setup/firebase-web", "setup-firebase"),
            ("setup/apple-web", "setup-apple"),
        ]:
            self.looks(path, name, driver)

    def test_every_guide_is_accessible(self):
        driver = self.browser(width=390)
        driver.get(self.page("setup"))
        links = [a.get_attribute("href") for a in driver.find_elements(CSS, ".setup-kinds a")]
        self.assertGreater(len(links), 12)
        for link in links:
            driver.get(link)
            self.fits(driver, 390)
            self.check_accessible(driver, link)

    def test_a_fault_without_scripts(self):
        driver = self.browser(scripts=False)
        driver.get(self.page("orders/fault"))
        Select(driver.find_element(By.NAME, "provider")).select_by_visible_text("GitHub")
        self.button(driver, "Next").click()
        endpoint = wait(driver, lambda d: d.find_element(By.NAME, "endpoint"))
        Select(endpoint).select_by_value("POST github.com/login/oauth/access_token")
        self.button(driver, "Next").click()
        error = wait(driver, lambda d: d.find_element(By.NAME, "field.effect.error"))
        Select(error).select_by_value("bad_verification_code")
        self.button(driver, "Show the call").click()
        self.says(driver, "bad_verification_code", "#sent-json")
        self.assertEqual(self.faults(), [])
        self.button(driver, "Order it").click()
        self.says(driver, "redeem a code", "main table")
        self.assertEqual(self.faults()[0]["effect"], {"error": "bad_verification_code"})
        driver.find_element(CSS, "main table button").click()
        self.says(driver, "No outcome or fault is waiting")
        self.assertEqual(self.faults(), [])

    def test_a_fault_in_one_page(self):
        driver = self.browser()
        driver.get(self.page("orders/fault"))
        Select(driver.find_element(By.NAME, "provider")).select_by_visible_text("Apple")
        endpoint = wait(driver, lambda d: d.find_element(By.NAME, "endpoint"))
        Select(endpoint).select_by_value("POST appleid.apple.com/auth/token")
        wait(driver, lambda d: d.find_elements(CSS, ".orders-form"))
        # Rarely used fields are folded.
        status = driver.find_element(By.NAME, "field.effect.status")
        self.assertFalse(status.is_displayed())
        next(s for s in driver.find_elements(CSS, "summary") if "whole response" in s.text).click()
        self.assertTrue(status.is_displayed())
        status.send_keys("418")
        wait(driver, lambda d: '"status": 418' in d.find_element(By.ID, "sent-json").text, "the call as it is written")
        self.button(driver, "Order it").click()
        wait(driver, lambda d: "status 418" in d.find_element(CSS, "main").text)
        self.assertEqual(self.ask("appleid.apple.com/auth/token", data=b"x=1")[0], 418)

    def test_by_keyboard_alone(self):
        driver = self.browser()
        driver.get(self.page("orders/sign-in?provider=github"))
        driver.find_element(By.ID, "step-provider").send_keys("\t")
        # The field for the outcome comes first.
        driver.switch_to.active_element.send_keys("\ue015")
        self.assertEqual(driver.switch_to.active_element.get_attribute("value"), "cancel")
        # The scopes of an approval are hidden now, so the client and the person follow.
        for keys in ["\t", "\t", "hop"]:
            driver.switch_to.active_element.send_keys(keys)
        self.assertEqual(driver.switch_to.active_element.get_attribute("name"), "field.account")

    def test_people_are_searched(self):
        driver = self.browser()
        driver.get(self.page("orders/sign-in?provider=github"))
        field = driver.find_element(By.NAME, "field.account")
        field.send_keys("hop")
        wait(
            driver,
            lambda d: [o.get_attribute("value") for o in d.find_elements(CSS, "[id='options-field.account'] option")] == ["grace"])

    def test_a_refusal_leaves_the_form_as_it_was(self):
        driver = self.browser()
        driver.get(self.page("orders/sign-in?provider=github"))
        driver.find_element(By.NAME, "field.account").send_keys("nobody")
        self.button(driver, "Order it").click()
        wait(driver, lambda d: d.find_element(CSS, "[role=alert]"))
        self.assertIn("no account", driver.find_element(By.ID, "field.account-fault").text)
        self.assertEqual(driver.find_element(By.NAME, "field.account").get_attribute("value"), "nobody")
        self.check_accessible(driver)

    def test_two_windows_at_once(self):
        self.control("outcomes", {"provider": "github", "outcome": "cancel"})
        driver = self.browser(scripts=False)
        driver.get(self.page("orders"))
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        driver.get(self.page("orders"))
        driver.find_element(CSS, "main table button").click()
        self.says(driver, "No outcome or fault is waiting")
        driver.switch_to.window(first)
        driver.find_element(CSS, "main table button").click()
        self.says(driver, "it was used up", "[role=alert]")

    def test_a_scenario_is_started_and_stopped(self):
        driver = self.browser(scripts=False)
        driver.get(self.page("orders/scenarios/clock-ahead"))
        driver.find_element(CSS, "main form button").click()
        self.says(driver, "on", ".title .badge")
        driver.get(self.page("clock"))
        self.says(driver, "ahead of the machine")
        driver.get(self.page("orders/scenarios/clock-ahead"))
        driver.find_element(CSS, "form[action$='/end'] button").click()
        self.says(driver, "The scenario has ended")
        self.assertEqual(driver.find_elements(CSS, ".title .badge"), [])

    def test_a_token_by_hand(self):
        driver = self.browser()
        driver.get(self.page("orders/tokens?provider=apple"))
        driver.find_element(By.NAME, "field.nonce").send_keys("n")
        self.button(driver, "Mint it").click()
        token = wait(driver, lambda d: d.find_element(By.ID, "made-token")).text
        self.assertEqual(len(token.split(".")), 3)
        self.check_accessible(driver)

    def test_the_clock_ticks_and_is_moved(self):
        driver = self.browser()
        driver.get(self.page("clock"))
        before = driver.find_element(CSS, ".clock-world .clock-time").text
        wait(driver, lambda d: d.find_element(CSS, ".clock-world .clock-time").text != before)
        next(b for b in driver.find_elements(CSS, ".clock-moves button") if "+1 hour" in b.text).click()
        wait(driver, lambda d: "1 hour ahead" in d.find_element(CSS, "main").text)
        driver.execute_script("document.querySelector('input[name=time]').value='2030-01-01T00:00'")
        self.button(driver, "Set it").click()
        wait(driver, lambda d: d.find_element(CSS, ".clock-world .clock-date").text == "2030-01-01")
        self.button(driver, "Freeze it").click()
        wait(driver, lambda d: d.find_element(CSS, ".title .badge").text == "frozen")
        still = driver.find_element(CSS, ".clock-world .clock-time").text
        time.sleep(1.5)
        self.assertEqual(driver.find_element(CSS, ".clock-world .clock-time").text, still)

    def test_a_world_is_made_opened_and_deleted(self):
        driver = self.browser(scripts=False)
        driver.get(self.page("worlds"))
        driver.find_element(By.NAME, "field.name").send_keys("lesson-1")
        self.button(driver, "Create").click()
        self.says(driver, "lesson-1 is at")
        driver.find_element(By.LINK_TEXT, "lesson-1").click()
        wait(driver, lambda d: "/~lesson-1/_understudy/" in d.current_url)
        self.says(driver, "lesson-1", "header .world")
        driver.get(self.page("worlds"))
        driver.find_element(CSS, "form[action$='worlds/delete'] button").click()
        self.says(driver, "lesson-1 was deleted")
        self.assertEqual(driver.find_elements(By.LINK_TEXT, "lesson-1"), [])

    def test_a_seed_with_a_mistake(self):
        driver = self.browser(scripts=False)
        driver.get(self.page("worlds/seed"))
        driver.find_element(By.NAME, "seed").send_keys('{"accounts": [{"id": "max", "emial": "x"}]}')
        self.button(driver, "Change the seed").click()
        self.says(driver, "$.accounts[0].emial", "[role=alert]")
        self.assertIn("emial", driver.find_element(By.NAME, "seed").get_attribute("value"))

    def test_the_first_request_is_seen_by_itself(self):
        driver = self.browser()
        driver.get(self.page("setup/github"))
        self.says(driver, "No request", "#arrival")
        self.ask("github.com/login/oauth/access_token", data=b"client_id=Iv1.0123456789abcdef&code=nope")
        wait(driver, lambda d: "first request has arrived" in d.find_element(By.ID, "arrival").text)
        self.assertTrue(driver.find_elements(CSS, "#arrival .note.bad"))
        self.check_accessible(driver)

    def test_the_first_request_without_scripts(self):
        driver = self.browser(scripts=False)
        driver.get(self.page("setup/github"))
        self.ask("api.github.com/user")
        driver.find_element(By.LINK_TEXT, "Check again").click()
        self.says(driver, "first request has arrived", "#arrival")


if __name__ == "__main__":
    unittest.main()
