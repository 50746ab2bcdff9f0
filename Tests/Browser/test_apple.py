"""Apple's sign-in pages in headless Chromium: cookies across sites, keyboard, no scripts, phone width."""

import json
import urllib.parse

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from support import App, BrowserTestCase, wait


class AppleSignIn(BrowserTestCase):
    @classmethod
    def seed_text(cls):
        service = {
            "id": "com.example.web.local",
            "primaryApp": "com.example.app",
            "returnURLs": [cls.callback],
            "allowInsecureReturnURLs": True,
        }
        return {"apple": {"teams": [{"id": "A1B2C3D4E5", "services": [service]}]}}

    def authorize(self, **changes):
        query = {
            "client_id": "com.example.web.local", "redirect_uri": self.callback, "response_type": "code id_token",
            "response_mode": "form_post", "scope": "name email", "state": "s 1", "nonce": "n",
        } | changes
        return f"{self.origin}/appleid.apple.com/auth/authorize?{urllib.parse.urlencode(query)}"

    def test_form_post_is_cross_site(self):
        """Checks that the browser sends a None cookie with the posted answer and no Lax cookie, as with Apple."""
        driver = self.browser()
        driver.get(f"http://localhost:{self.app.server_port}/start")
        driver.get(self.authorize())
        self.assertTrue(driver.current_url.startswith(f"http://appleid.apple.com.localhost:{self.port}/"))
        self.shot(driver, "people-wide")
        self.person(driver, "Ada").click()
        wait(driver, lambda d: d.find_elements(By.NAME, "given"))
        self.shot(driver, "consent-wide")
        driver.find_element(By.CSS_SELECTOR, "button[value=continue]").click()
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        got = App.seen[-1]
        self.assertNotIn("lax=1", got["cookie"])
        self.assertIn("none=1", got["cookie"])
        self.assertEqual(got["form"]["state"], "s 1")
        self.assertEqual(json.loads(got["form"]["user"])["name"], {"firstName": "Ada", "lastName": "Lovelace"})

    def test_same_site_would_hide_it(self):
        """Checks that the Lax cookie is sent if localhost itself posts. So the page must be on another site."""
        driver = self.browser()
        driver.get(f"http://localhost:{self.app.server_port}/start")
        driver.execute_script(
            "const f=document.createElement('form');f.method='post';f.action=arguments[0];"
            "document.body.append(f);f.submit()", self.callback)
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertIn("lax=1", App.seen[-1]["cookie"])

    def test_keyboard_phone_dark(self):
        """Signs in by Tab and Enter only, and hides the address. The second time there is no choice."""
        driver = self.browser(width=390, height=844, dark=True)
        driver.get(self.authorize())
        self.shot(driver, "people-phone-dark")
        self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), 390)
        driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
        self.assertIn("Ada", driver.switch_to.active_element.text)
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.NAME, "given"))
        self.shot(driver, "consent-phone-dark")
        self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), 390)
        field = driver.find_element(By.NAME, "given")
        field.clear()
        field.send_keys("Augusta <b>", Keys.TAB, Keys.TAB)
        driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        driver.find_element(By.CSS_SELECTOR, "button[value=continue]").send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        user = json.loads(App.seen[-1]["form"]["user"])
        self.assertEqual(user["name"]["firstName"], "Augusta <b>")
        self.assertTrue(user["email"].endswith("@privaterelay.appleid.com"))
        driver.get(self.authorize())
        self.person(driver, "Ada").click()
        wait(driver, lambda d: "nothing more to choose" in d.page_source)
        self.shot(driver, "returning-phone-dark")
        self.assertEqual(driver.switch_to.active_element.get_attribute("value"), "continue")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertNotIn("user", App.seen[-1]["form"])

    def test_without_scripts(self):
        """Checks that without scripts the form is posted by its button."""
        driver = self.browser(scripts=False)
        driver.get(self.authorize())
        self.person(driver, "Grace").click()
        wait(driver, lambda d: d.find_elements(By.NAME, "given"))
        driver.find_element(By.CSS_SELECTOR, "button[value=continue]").click()
        wait(driver, lambda d: d.find_elements(By.ID, "answer"))
        self.shot(driver, "form-post-no-scripts")
        driver.find_element(By.CSS_SELECTOR, "#answer button").click()
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertIn("code", App.seen[-1]["form"])

    def test_cancel(self):
        driver = self.browser()
        driver.get(self.authorize())
        driver.find_element(By.CSS_SELECTOR, "button[value=cancel]").click()
        wait(driver, lambda d: d.find_elements(By.ID, "done"))
        self.assertEqual(App.seen[-1]["form"], {"state": "s 1", "error": "user_cancelled_authorize"})

    def test_popup(self):
        """Checks web_message: the opener gets the answer as a message, and the pop-up closes."""
        driver = self.browser()
        driver.get(f"http://localhost:{self.app.server_port}/popup")
        driver.execute_script("window.open(arguments[0],'p','width=500,height=600')", self.authorize(response_mode="web_message"))
        opener, popup = driver.window_handles
        driver.switch_to.window(popup)
        self.person(driver, "Ada").click()
        wait(driver, lambda d: d.find_elements(By.NAME, "given"))
        driver.find_element(By.CSS_SELECTOR, "button[value=continue]").click()
        wait(driver, lambda d: len(d.window_handles) == 1)
        driver.switch_to.window(opener)
        origin, data = wait(driver, lambda d: d.execute_script("return got[0]"))
        self.assertEqual(origin, self.origin)
        message = json.loads(data)
        self.assertEqual(message["data"]["authorization"]["state"], "s 1")
        self.assertEqual(message["data"]["user"]["name"]["firstName"], "Ada")

    def test_error_page(self):
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            driver = self.browser(width=width, height=height)
            driver.get(self.authorize(redirect_uri="https://example.com/elsewhere"))
            self.assertIn("invalid_request", driver.page_source)
            self.shot(driver, f"error-{name}")
            self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), width)
