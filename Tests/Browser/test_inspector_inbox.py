"""The inspector's inbox: what would have been mailed or texted."""

import email
import email.policy
import json
import time
import unittest
import urllib.parse

from selenium.webdriver.common.by import By

from inspector import InspectorTestCase
from support import wait

TOOLKIT = "identitytoolkit.googleapis.com/v1"
MARKUP = "</bdi><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
BIDI = "\u202e\u2066txt.exe\u200f"


class Inbox(InspectorTestCase):
    def call(self, name, body, path=f"{TOOLKIT}/accounts", headers={}, method=None):
        status, answer = self.ask(
            f"{path}:{name}?key=demo-api-key" if name else path, data=json.dumps(body).encode(), method=method,
            headers={"Content-Type": "application/json"} | headers)
        return json.loads(answer)

    def mail(self, address):
        self.call("signUp", {"email": address, "password": "correct horse"})
        self.call("sendOobCode", {"requestType": "PASSWORD_RESET", "email": address})

    def fill(self):
        self.mail("ada@example.org")
        self.control("outcomes", {"provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": False})
        native = self.control("apple/authorizations", {"client": "com.example.app", "scopes": ["email"], "account": "grace"})
        body = urllib.parse.urlencode({"id_token": native["identityToken"], "providerId": "apple.com"})
        user = self.call("signInWithIdp", {"postBody": body, "requestUri": "http://localhost", "returnSecureToken": True})
        for switched in [None, "email-disabled"]:
            if switched:
                self.control("apple/notifications", {"type": switched, "account": "grace", "client": "com.example.app"})
            self.call("sendOobCode", {"requestType": "VERIFY_EMAIL", "idToken": user["idToken"]})
        self.call("sendVerificationCode", {"phoneNumber": "+15555550123"})

    def messages(self, query=""):
        return json.loads(self.ask(f"_understudy/v1/mail?{query}")[1])["messages"]

    def test_pages(self):
        self.looks("inbox", "inbox-empty")
        self.fill()
        self.looks("inbox", "inbox")
        self.looks("inbox/m2", "inbox-mail")
        self.looks("inbox/m3", "inbox-refused")
        self.looks("inbox/m4", "inbox-text")
        driver = self.browser()
        driver.get(self.page("inbox/m1"))
        driver.find_element(By.TAG_NAME, "summary").send_keys("\n")
        self.check_accessible(driver, "with its headers")

    def test_frame_shows_the_mail_and_runs_nothing(self):
        template = {"body": "<style>b{color:#123456}</style><b id=b>Shown</b> %LINK%<script>document.title='ran'</script>"
                            f"<img src='{self.origin}/loaded-from-elsewhere' onerror=\"document.title='ran'\">"
                            "<a id=a href='%LINK%'>link</a><form action='/_understudy/inbox/delete' method=post><button id=f>x</button></form>",
                    "bodyFormat": "HTML"}
        self.call("", {"notification": {"sendEmail": {"resetPasswordTemplate": template}}}, method="PATCH",
                  path="identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask=notification",
                  headers={"Authorization": "Bearer owner"})
        self.mail("ada@example.org")
        driver = self.browser()
        driver.get(self.page("inbox/m1"))
        frame = driver.find_element(By.CSS_SELECTOR, "iframe.inbox-frame")
        driver.execute_script("arguments[0].scrollIntoView()", frame)
        driver.switch_to.frame(frame)
        self.assertEqual(driver.find_element(By.ID, "b").text, "Shown")
        self.assertEqual(driver.find_element(By.ID, "b").value_of_css_property("color"), "rgba(18, 52, 86, 1)")
        for element in ["a", "f"]:
            driver.find_element(By.ID, element).click()
        time.sleep(0.3)
        self.assertEqual(driver.find_element(By.ID, "b").text, "Shown")
        driver.switch_to.default_content()
        self.assertEqual(len(driver.window_handles), 1)
        self.assertNotEqual(driver.title, "ran")
        self.assertEqual([m["id"] for m in self.messages()], ["m1"])
        recorded = json.loads(self.ask("_understudy/v1/requests")[1])["requests"]
        self.assertFalse([r for r in recorded if "loaded-from-elsewhere" in r["path"]])
        # By itself, the frame's address is as harmless.
        driver.get(self.page("inbox/m1/html"))
        self.assertNotEqual(driver.title, "ran")

    def test_new_messages_appear_by_themselves(self):
        first, second = self.browser(), self.browser()
        for driver in [first, second]:
            driver.get(self.page("inbox"))
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".empty"))
        time.sleep(0.5)
        self.mail("ada@example.org")
        began = time.monotonic()
        for driver in [first, second]:
            wait(driver, lambda d: "ada@example.org" in d.find_element(By.ID, "messages").text, "the mail")
        self.assertLess(time.monotonic() - began, 2)
        wait(first, lambda d: "ada@example.org" in d.find_element(By.ID, "inbox-news").get_attribute("textContent"))
        first.find_element(By.CSS_SELECTOR, ".title button").click()
        wait(second, lambda d: d.find_elements(By.CSS_SELECTOR, ".empty"), "the other window's empty inbox")

    def test_copies_a_code(self):
        self.mail("ada@example.org")
        driver = self.browser()
        driver.get(self.page("inbox/m1"))
        button = driver.find_element(By.XPATH, "//button[text()='Copy the code']")
        button.click()
        wait(driver, lambda d: button.text == "Copied", "the button's answer")

    def test_without_scripts(self):
        self.fill()
        driver = self.browser(scripts=False)
        driver.get(self.page("inbox"))
        driver.find_element(By.NAME, "search").send_keys("ada@example.org\n")
        links = driver.find_elements(By.CSS_SELECTOR, ".inbox-list td a")
        self.assertEqual(len(links), 1)
        links[0].click()
        self.assertIn("Reset your password", driver.find_element(By.CSS_SELECTOR, ".facts").text)
        driver.switch_to.frame(driver.find_element(By.CSS_SELECTOR, "iframe.inbox-frame"))
        self.assertIn("new password", driver.find_element(By.TAG_NAME, "body").text)
        driver.switch_to.default_content()
        driver.find_element(By.CSS_SELECTOR, ".inbox-actions a.button").click()
        wait(driver, lambda d: len(d.window_handles) == 2)
        driver.switch_to.window(driver.window_handles[1])
        wait(driver, lambda d: "Choose a new password" in d.page_source, "the page behind the link")
        driver.close()
        driver.switch_to.window(driver.window_handles[0])
        driver.find_element(By.XPATH, "//button[text()='Delete']").click()
        wait(driver, lambda d: "ada@example.org" not in d.find_element(By.ID, "messages").text, "the list without it")
        driver.find_element(By.XPATH, "//button[text()='Delete all']").click()
        wait(driver, lambda d: "Nothing was sent" in d.find_element(By.TAG_NAME, "main").text, "the empty inbox")

    def test_by_keyboard(self):
        self.mail("ada@example.org")
        driver = self.browser()
        driver.get(self.page("inbox"))
        link = driver.find_element(By.CSS_SELECTOR, ".inbox-list td a")
        focused = lambda: driver.execute_script("return document.activeElement === arguments[0]", link)
        for _ in range(30):
            driver.switch_to.active_element.send_keys("\ue004")
            if focused():
                break
        self.assertTrue(focused())
        link.send_keys("\n")
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".facts"))

    def test_hostile_texts(self):
        user = self.call("signUp", {"email": "e@example.org", "password": "secret1", "returnSecureToken": True})
        self.call("update", {"idToken": user["idToken"], "displayName": MARKUP + BIDI})
        self.call("sendOobCode", {"requestType": "VERIFY_EMAIL", "idToken": user["idToken"]})
        driver = self.browser()
        for path in ["inbox", "inbox/m1", "inbox/m1/html", f"inbox?search={urllib.parse.quote(MARKUP)}"]:
            driver.get(self.page(path))
            self.assertIsNone(driver.execute_script("return window.hacked ?? null") if "html" not in path else None)
        driver.get(self.page("inbox/m1"))
        text = driver.find_element(By.TAG_NAME, "pre").text
        self.assertIn("<script>window.hacked=1</script>", text)
        self.assertNotIn("\u202e", text)

    def test_saved_mail_is_read_by_other_programs(self):
        self.mail("ada@example.org")
        raw = self.ask("_understudy/v1/mail/m1/raw")[1]
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        self.assertEqual(mail["To"].addresses[0].addr_spec, "ada@example.org")
        self.assertEqual(mail.defects, [])
        link = self.messages()[0]["links"][0]
        self.assertIn(link, mail.get_body(preferencelist=("plain",)).get_content())
        self.assertIn("oobCode=", mail.get_body(preferencelist=("html",)).get_content())


if __name__ == "__main__":
    unittest.main()
