"""The inspector's list of sign-ins and the page of one: live, in two windows, without scripts."""

import json
import os
import subprocess
import time
import unittest
import urllib.parse

from inspector import InspectorTestCase
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from support import BINARY, wait

GITHUB = {"client_id": "Ov23liAutoAnswers001", "redirect_uri": "https://example.com/callback", "state": "x"}


class SignIns(InspectorTestCase):
    def refuse(self, client="nobody"):
        """Begins a sign-in that is refused."""
        query = urllib.parse.urlencode({"client_id": client, "redirect_uri": "https://example.com/"})
        return self.ask(f"github.com/login/oauth/authorize?{query}")

    def authorize(self, state="x"):
        """Returns the code in the redirect to the callback, which isn't requested."""
        url = f"{self.origin}/github.com/login/oauth/authorize?{urllib.parse.urlencode(GITHUB | {'state': state})}"
        answer = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{redirect_url}", url], capture_output=True, text=True, check=True)
        return urllib.parse.parse_qs(urllib.parse.urlsplit(answer.stdout).query)["code"][0]

    def redeem(self, code):
        form = {"client_id": GITHUB["client_id"], "client_secret": "github-secret-for-tests", "code": code}
        status, body = self.ask(
            "github.com/login/oauth/access_token", headers={"Accept": "application/json"},
            data=urllib.parse.urlencode(form).encode())
        return status

    def rows(self, driver):
        return driver.find_elements(By.CSS_SELECTOR, "#flows > li")

    # The list

    def test_a_new_exchange_is_there_within_three_seconds(self):
        driver = self.browser()
        driver.get(self.page())
        for number in range(3):
            self.refuse(f"app-{number}")
            answered = time.time()
            wait(driver, lambda d: len(self.rows(d)) == number + 1, "the row")
            self.assertLess(time.time() - answered, 3)
        self.assertIn("app-2", self.rows(driver)[0].text)
        status = driver.find_elements(By.CSS_SELECTOR, "[role=status]")
        wait(driver, lambda d: any("GitHub web sign-in, refused:" in s.get_attribute("textContent") for s in status))

    def test_a_row_changes_in_its_place(self):
        driver = self.browser()
        driver.get(self.page())
        code = self.authorize()
        wait(driver, lambda d: "Unfinished" in self.rows(d)[0].text if self.rows(d) else False)
        driver.find_element(By.CSS_SELECTOR, "#flows a").send_keys("")
        self.redeem(code)
        wait(driver, lambda d: "Signed in" in self.rows(d)[0].text)
        self.assertEqual(len(self.rows(driver)), 1)
        # The keyboard focus stays where it was.
        self.assertTrue(driver.execute_script("return document.activeElement.closest('#flows')!==null"))

    def test_it_can_be_paused_and_goes_on(self):
        driver = self.browser()
        driver.get(self.page())
        driver.find_element(By.ID, "live").click()
        self.assertEqual(driver.find_element(By.ID, "live").get_attribute("aria-pressed"), "false")
        self.refuse()
        time.sleep(2.5)
        self.assertEqual(self.rows(driver), [])
        driver.find_element(By.ID, "live").click()
        wait(driver, lambda d: len(self.rows(d)) == 1)

    def test_several_windows_at_once(self):
        driver = self.browser()
        driver.get(self.page())
        for _ in range(4):
            driver.switch_to.new_window("window")
            driver.get(self.page())
        self.refuse("seen-by-all")
        for window in driver.window_handles:
            driver.switch_to.window(window)
            wait(driver, lambda d: "seen-by-all" in d.find_element(By.ID, "flows").text, window)

    def test_emptied_in_one_window_it_is_empty_in_the_other(self):
        one, other = self.browser(), self.browser()
        self.refuse()
        for driver in [one, other]:
            driver.get(self.page())
            self.assertEqual(len(self.rows(driver)), 1)
        one.find_element(By.CSS_SELECTOR, "form[action$='flows/empty'] button").click()
        wait(other, lambda d: not self.rows(d) and d.find_element(By.ID, "no-flows").is_displayed())

    def test_it_finds_a_daemon_that_was_started_again(self):
        start = lambda port: subprocess.Popen(
            [BINARY, "serve", "--port", port], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        daemon = start("0")
        port = daemon.stdout.readline().rsplit(":", 1)[1].strip()
        driver = self.browser()
        driver.get(f"http://localhost:{port}/_understudy/")
        daemon.terminate()
        daemon.wait()
        daemon.stdout.close()
        wait(driver, lambda d: d.find_element(By.ID, "live").text == "Connecting…")
        daemon = start(port)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        daemon.stdout.readline()
        wait(driver, lambda d: d.find_element(By.ID, "live").text == "Live")
        subprocess.run(
            ["curl", "-s", "-o", os.devnull, f"http://localhost:{port}/github.com/login/oauth/authorize?client_id=again"],
            check=True)
        wait(driver, lambda d: "again" in d.find_element(By.ID, "flows").text)

    # Without scripts

    def test_everything_is_there_without_scripts(self):
        for number in range(55):
            self.refuse(f"app-{number}")
        self.redeem(self.authorize())
        driver = self.browser(scripts=False)
        driver.get(self.page())
        self.assertEqual(len(self.rows(driver)), 50)
        self.assertFalse(driver.find_element(By.ID, "live").is_displayed())
        driver.find_element(By.ID, "older").send_keys(Keys.ENTER)
        self.assertEqual(len(self.rows(driver)), 6)
        driver.get(self.page())
        driver.find_element(By.NAME, "q").send_keys("Lovelace" + Keys.ENTER)
        self.assertEqual(len(self.rows(driver)), 1)
        driver.find_element(By.CSS_SELECTOR, "#flows a").click()
        self.assertIn("Signed in", driver.find_element(By.ID, "flow").text)
        arrow = driver.find_element(By.CSS_SELECTOR, "svg.wide a.flow-arrow")
        self.assertIn("Browser to GitHub", arrow.get_attribute("aria-label"))
        self.assertIn("/_understudy/requests/r", arrow.get_dom_attribute("href"))
        driver.get(self.page())
        driver.find_element(By.CSS_SELECTOR, "form[action$='flows/empty'] button").click()
        wait(driver, lambda d: not self.rows(d), "the recording is empty")
        self.assertIn("Point your app here", driver.find_element(By.TAG_NAME, "main").text)

    # One sign-in

    def test_the_page_of_a_sign_in_grows_with_it(self):
        code = self.authorize()
        flow = json.loads(self.ask("_understudy/v1/requests")[1])["requests"][0]["flow"]
        driver = self.browser()
        driver.get(self.page(f"flows/{flow}"))
        self.assertIn("been redeemed", driver.find_element(By.ID, "flow").text)
        arrows = len(driver.find_elements(By.CSS_SELECTOR, "svg.wide a.flow-arrow"))
        self.redeem(code)
        wait(driver, lambda d: len(d.find_elements(By.CSS_SELECTOR, "svg.wide a.flow-arrow")) == arrows + 2)
        self.assertIn("Signed in", driver.find_element(By.ID, "flow").text)
        self.redeem(code)
        wait(driver, lambda d: "handle the callback twice?" in d.find_element(By.CSS_SELECTOR, "#flow .note").text)

    def test_arrows_are_reached_by_keyboard(self):
        self.redeem(self.authorize())
        driver = self.browser()
        driver.get(self.page())
        driver.get(driver.find_element(By.CSS_SELECTOR, "#flows a").get_attribute("href"))
        seen = set()
        for _ in range(40):
            driver.switch_to.active_element.send_keys(Keys.TAB)
            label = driver.switch_to.active_element.get_attribute("aria-label")
            if label:
                seen.add(label)
        self.assertTrue(any(label.startswith("Backend to GitHub: redeem code") for label in seen), seen)

    # The appearance of the pages

    def test_it_looks_right(self):
        self.looks("", "sign-ins-none")
        self.redeem(self.authorize())
        code = self.authorize("second")
        self.redeem(code)
        self.redeem(code)
        self.refuse("<script>alert(1)</script>\u202eevil" + "x" * 300)
        self.control("faults", {"match": {"path": "/login/oauth/access_token"}, "effect": {"delay": "700ms", "status": 503}})
        self.redeem(self.authorize("third"))
        self.authorize("fourth")
        self.looks("", "sign-ins")
        flows = {r["flow"] for r in json.loads(self.ask("_understudy/v1/requests")[1])["requests"]}
        driver = self.browser()
        for flow in sorted(flows):
            self.looks(f"flows/{flow}", f"flow-{flow}", driver)
        self.looks("flows/r999999", "flow-none", driver)


if __name__ == "__main__":
    unittest.main()
