"""The inspector's pages of people and of app users."""

import json
import unittest
import urllib.error
import urllib.request

from inspector import InspectorTestCase
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from support import wait

HOSTILE = "</h1><script>window.harmed=1</script><img src=x onerror=harmed=1>\u202e"


class People(InspectorTestCase):
    def sign_in(self, person="grace"):
        """Grants of several kinds, with tokens."""
        self.control("apple/authorizations", {"client": "com.example.app", "scopes": ["email"], "account": person})
        self.control("facebook/authorizations", {"client": "1234567890", "account": person})
        self.control(
            "google/authorizations", {"client": "example.apps.googleusercontent.com", "account": person})

    def sign_up(self, email, **more):
        body = {"email": email, "password": "secret12", "returnSecureToken": True} | more
        path = "identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key"
        status, answer = self.ask(path, {"Content-Type": "application/json"}, json.dumps(body).encode())
        self.assertEqual(status, 200)
        return json.loads(answer)["localId"]

    def button(self, driver, text):
        return next(b for b in driver.find_elements(By.TAG_NAME, "button") if b.text == text)

    def heading(self, driver, text):
        wait(driver, lambda d: d.execute_script("return document.querySelector('h1')?.innerText") == text, f"the page {text}")

    def person_exists(self, name):
        try:
            with urllib.request.urlopen(f"{self.origin}/_understudy/v1/accounts/{name}") as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def test_looks(self):
        self.sign_in()
        user = self.sign_up("max@example.com", displayName="Max")
        driver = self.looks("people", "people")
        self.looks("people/grace", "person", driver)

        def open_all(driver):
            for details in driver.find_elements(By.TAG_NAME, "details"):
                driver.execute_script("arguments[0].open=true", details)

        self.looks("people/grace/edit", "person-edit", driver, open_all)
        self.looks("new/person", "person-new", driver)
        self.looks("users", "users", driver)
        self.looks("users/firebase:demo-app", "users-project", driver)
        self.looks(f"users/firebase:demo-app/{user}", "user", driver)
        self.looks(f"users/firebase:demo-app/{user}/edit", "user-edit", driver)

    def walk(self, driver):
        """Makes, changes and deletes a person, and revokes what one has granted."""
        driver.get(self.page("people"))
        driver.find_element(By.LINK_TEXT, "New person").click()
        self.heading(driver, "New person")
        driver.find_element(By.NAME, "field.email").send_keys("no address")
        driver.find_element(By.NAME, "field.id").send_keys("max", Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "[aria-invalid]"), "the fault")
        address = driver.find_element(By.CSS_SELECTOR, "[aria-invalid]")
        self.assertEqual(address.get_attribute("name"), "field.email")
        self.assertIn("e-mail address", driver.find_element(By.ID, "field.email-fault").text)
        address.clear()
        address.send_keys(Keys.ENTER)
        self.heading(driver, "Max Example")
        self.assertIn("max can sign in now", driver.find_element(By.CSS_SELECTOR, "[role=status]").text)
        driver.find_element(By.LINK_TEXT, "Edit").click()
        self.heading(driver, "Edit max")
        family = driver.find_element(By.NAME, "field.name.family")
        family.clear()
        family.send_keys("Power")
        self.button(driver, "Save").send_keys(Keys.ENTER)
        self.heading(driver, "Max Power")
        # By the keyboard: a click may meet what is still scrolling.
        driver.find_element(By.CSS_SELECTOR, ".people-deletion summary").send_keys(Keys.ENTER)
        self.button(driver, "Delete max").send_keys(Keys.ENTER)
        self.heading(driver, "People")
        self.assertFalse(self.person_exists("max"))
        self.sign_in("ada")
        driver.get(self.page("people/ada"))
        before = len(driver.find_elements(By.CSS_SELECTOR, "button[aria-label^='Revoke: ']"))
        driver.find_element(By.CSS_SELECTOR, "button[aria-label^='Revoke: ']").send_keys(Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".note.good"), "what was done")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, "button[aria-label^='Revoke: ']")), before - 1)

    def test_walk(self):
        self.walk(self.browser())

    def test_walk_without_scripts(self):
        self.walk(self.browser(scripts=False))

    def test_two_windows(self):
        driver = self.browser()
        driver.get(self.page("people/ada/edit"))
        first = driver.current_window_handle
        driver.switch_to.new_window("window")
        driver.get(self.page("people/ada/edit"))
        name = driver.find_element(By.NAME, "field.name.given")
        name.clear()
        name.send_keys("Augusta", Keys.ENTER)
        self.heading(driver, "Augusta Lovelace")
        driver.switch_to.window(first)
        name = driver.find_element(By.NAME, "field.name.given")
        name.clear()
        name.send_keys("Adele", Keys.ENTER)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "[role=alert]"), "the question")
        self.assertIn("changed this field to Augusta", driver.find_element(By.ID, "field.name.given-fault").text)
        self.check_accessible(driver, "a conflict")
        self.button(driver, "Save").send_keys(Keys.ENTER)
        self.heading(driver, "Adele Lovelace")

    def test_user(self):
        user = self.sign_up("max@example.com")
        driver = self.browser(scripts=False)
        driver.get(self.page("users"))
        driver.find_element(By.CSS_SELECTOR, ".people-directory").click()
        self.heading(driver, "demo-app")
        search = driver.find_element(By.NAME, "q")
        search.send_keys("max@", Keys.ENTER)
        wait(driver, lambda d: "q=max" in d.current_url, "the search")
        driver.find_element(By.LINK_TEXT, "max@example.com").click()
        self.heading(driver, "max@example.com")
        self.assertIn(user, driver.page_source)
        self.button(driver, "Disable").click()
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".badge.bad"), "the badge")
        self.button(driver, "Enable").click()
        wait(driver, lambda d: not d.find_elements(By.CSS_SELECTOR, ".badge.bad"), "no badge")

    def test_hostile(self):
        self.control(
            "accounts",
            {
                "id": "eve", "name": {"given": HOSTILE, "family": "\u0000\u202e"},
                "github": {"login": "eve", "bio": HOSTILE * 100}, "openid": {"sub": HOSTILE, "claims": {HOSTILE: HOSTILE}},
            })
        self.sign_in("eve")
        user = self.sign_up("eve@example.com", displayName=HOSTILE)
        driver = self.browser()
        for path in ["people", "people/eve", "people/eve/edit", "users/firebase:demo-app",
                     f"users/firebase:demo-app/{user}", f"users/firebase:demo-app/{user}/edit"]:
            self.looks(path, "hostile", driver)
            self.assertIsNone(driver.execute_script("return window.harmed ?? null"))


if __name__ == "__main__":
    unittest.main()
