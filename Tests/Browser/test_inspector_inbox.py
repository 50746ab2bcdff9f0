"""Tests of the inspector's inbox, which holds mails and text messages."""

import email
import email.policy
import email.message
import json
import smtplib
import time
import unittest
import urllib.parse

from selenium.webdriver.common.by import By

from inspector import InspectorTestCase
from support import App, wait

TOOLKIT = "identitytoolkit.googleapis.com/v1"
MARKUP = "</bdi><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
BIDI = "\u202e\u2066txt.exe\u200f"

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fccff0bf1e000584027f7e2b2b1d"
    "0000000049454e44ae426082")


class Inbox(InspectorTestCase):
    options = ["--smtp-port", "0"]

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

    def send(self, html="<p>Your code is <b>123456</b>.</p>", to=("max@example.org",), sender="app@example.org", files=()):
        """Sends a mail by SMTP, as the app under test does."""
        mail = email.message.EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = f"Example <{sender}>", ", ".join(to), "Wëlcome"
        mail.set_content("Your code is 123456.")
        mail.add_alternative(html, subtype="html")
        mail.get_payload()[1].add_related(PICTURE, maintype="image", subtype="png", cid="<dot@example.org>")
        for name, content, kind in files:
            mail.add_attachment(content, maintype=kind[0], subtype=kind[1], filename=name)
        ports = json.loads(self.ask("_understudy/v1/health")[1])["ports"]
        with smtplib.SMTP("127.0.0.1", ports["smtp"]) as client:
            client.send_message(mail)

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

    def test_pages_of_mails_from_outside(self):
        self.send(files=[("Rechnung €.pdf", b"%PDF-1.4", ("application", "pdf")), ("x.html", b"<b>x</b>", ("text", "html"))],
                  to=["max@example.org", "moritz@example.org"])
        self.looks("inbox/m1", "inbox-received")
        driver = self.looks("inbox", "inbox-received-list")
        self.assertIn("3 files", driver.find_element(By.ID, "messages").text)
        driver.get(self.page("inbox/m1"))
        for summary in driver.find_elements(By.TAG_NAME, "summary"):
            summary.send_keys("\n")
        self.check_accessible(driver, "with its header and source")
        self.assertIn("moritz@example.org", driver.find_element(By.CSS_SELECTOR, ".facts").text)
        address = driver.find_element(By.CSS_SELECTOR, "a[href$='/attachments/3']").get_attribute("href")
        with urllib.request.urlopen(address) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
            self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
            self.assertEqual(answer.read(), b"<b>x</b>")

    def test_answers_a_mail(self):
        self.send()
        for scripts in [True, False]:
            driver = self.browser(scripts=scripts)
            driver.get(self.page("inbox/m1"))
            driver.find_element(By.NAME, "text").send_keys("Thank you")
            driver.find_element(By.XPATH, "//button[text()='Send the answer']").send_keys("\n")
            wait(driver, lambda d: "Re: Wëlcome" in d.find_element(By.TAG_NAME, "h1").text, "the answer")
            facts = driver.find_element(By.CSS_SELECTOR, ".facts").text
            self.assertIn("max@example.org", facts)
            self.assertIn("app@example.org", facts)
        self.assertEqual([m["to"] for m in self.messages()], ["max@example.org", "app@example.org", "app@example.org"])

    def test_frame_lets_no_mail_out(self):
        """Checks that showing any mail sends no requests and opens no other page."""
        elsewhere = f"{self.callback}?elsewhere"
        hostile = [
            f"<meta http-equiv=refresh content='0;url={elsewhere}'>", f"<base href='{elsewhere}/' target=_top>",
            f"<link rel=stylesheet href='{elsewhere}'>", f"<link rel=preload as=image href='{elsewhere}'>",
            f"<link rel=prefetch href='{elsewhere}'>", f"<style>@import '{elsewhere}'; b{{background:url({elsewhere})}}</style><b>x</b>",
            f"<style>@font-face{{font-family:f;src:url({elsewhere})}} b{{font-family:f}}</style><b>x</b>",
            f"<img src='{elsewhere}' srcset='{elsewhere} 2x'><picture><source srcset='{elsewhere}'><img></picture>",
            f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{elsewhere}'/><use href='{elsewhere}#x'/>"
            "<script>document.title='ran'</script></svg>",
            f"<iframe src='{elsewhere}'></iframe><iframe srcdoc=\"<img src='{elsewhere}'>\"></iframe>",
            f"<object data='{elsewhere}'></object><embed src='{elsewhere}'><video src='{elsewhere}' poster='{elsewhere}' autoplay></video>",
            f"<body background='{elsewhere}' onload=\"document.title='ran'\"><table background='{elsewhere}'><td>x</table>",
            f"<input type=image src='{elsewhere}'><audio src='{elsewhere}' autoplay></audio>",
        ]
        for html in hostile:
            self.send(html=html)
        clicked = f"<a id=a href='{elsewhere}' ping='{elsewhere}' target=_top>x</a><a id=b href='{elsewhere}' target=_self>y</a>" \
            f"<a id=c href='{elsewhere}' target=_parent>z</a><form action='{elsewhere}' target=_top><button id=d>x</button></form>" \
            "<img id=dot src='cid:dot@example.org'><p id=end>end</p>"
        self.send(html=clicked)
        driver = self.browser()
        for number in range(1, len(hostile) + 2):
            page = self.page(f"inbox/m{number}")
            driver.get(page)
            frame = driver.find_element(By.CSS_SELECTOR, "iframe.inbox-frame")
            driver.execute_script("arguments[0].scrollIntoView()", frame)
            driver.switch_to.frame(frame)
            wait(driver, lambda d: d.find_element(By.TAG_NAME, "body"))
            if number > len(hostile):
                dot = driver.find_element(By.ID, "dot")
                self.assertEqual(driver.execute_script("return arguments[0].naturalWidth", dot), 1)
                for element in "acdb":
                    driver.find_element(By.ID, element).click()
                    time.sleep(0.2)
            time.sleep(0.2)
            driver.switch_to.default_content()
            self.assertEqual(driver.current_url, page)
            self.assertNotEqual(driver.title, "ran")
            self.assertEqual(len(driver.window_handles), 1)
        self.assertEqual(App.seen, [])
        # If there had been a request, the server would have it now.
        driver.get(elsewhere)
        self.assertEqual(len(App.seen), 1)

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
        # The frame's address is as harmless if it is opened directly.
        driver.get(self.page("inbox/m1/html"))
        self.assertNotEqual(driver.title, "ran")

    def test_new_messages_appear_by_themselves(self):
        first, second = self.browser(), self.browser()
        for driver in [first, second]:
            driver.get(self.page("inbox"))
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".empty"))
        self.mail("ada@example.org")
        for driver in [first, second]:
            wait(driver, lambda d: "ada@example.org" in d.find_element(By.ID, "messages").text, "the mail")
        wait(first, lambda d: "ada@example.org" in d.find_element(By.CSS_SELECTOR, "p.spoken:last-of-type").get_attribute("textContent"))
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
        self.assertIn("Reset your password", driver.find_element(By.TAG_NAME, "h1").text)
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
        wait(driver, lambda d: "No messages yet" in d.find_element(By.TAG_NAME, "main").text, "the empty inbox")

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
