"""Google Identity Services, in pages that are written after Google's documentation."""

import base64
import json
import unittest
import urllib.parse
import urllib.request

from selenium.webdriver.common.by import By

from script_page import INTERCEPTS, InterceptedScriptTestCase, RealNameScriptTestCase, ScriptTestCase
from support import wait

CLIENT = "buttons.apps.googleusercontent.com"

BUTTON = """
<div id=button></div>
<script src="SCRIPT"></script>
<script>
window.moments = []
window.onload = () => {
  google.accounts.id.initialize({callback: response => window.result = response, ...CONFIG})
  google.accounts.id.renderButton(document.getElementById('button'), OPTIONS)
  AFTER
}
const note = moment => moments.push([
  moment.getMomentType(), moment.getNotDisplayedReason() || moment.getSkippedReason() || moment.getDismissedReason() || null])
</script>
"""

OAUTH = """
<button id=go>go</button>
<script src="SCRIPT"></script>
<script>
const client = google.accounts.oauth2.KIND({
  client_id: 'CLIENT', scope: 'openid email https://www.googleapis.com/auth/drive.file', state: 's 1',
  callback: response => window.result = response, error_callback: error => window.result = {failed: error.type}, ...CONFIG})
document.getElementById('go').onclick = () => client.METHOD()
</script>
"""


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Flows:
    script = "accounts.google.com/gsi/client"

    @classmethod
    def seed_text(cls):
        client = {
            "clientSecret": "s", "name": "Buttons", "redirectURIs": [f"{cls.home_page}/login", f"{cls.home_page}/"],
            "javaScriptOrigins": [cls.home_page]}
        return {"google": {"clients": [client | {"clientID": CLIENT}]}}

    def button(self, after="", options="{}", width=1280, height=900, host="localhost", **config):
        config = {"client_id": CLIENT} | config
        return self.open(
            BUTTON.replace("CONFIG", json.dumps(config)).replace("OPTIONS", options).replace("AFTER", after), width=width,
            height=height, host=host)

    def consent(self, driver):
        self.choose(driver)
        self.press(driver, "button[value=continue]")

    def press_button(self, driver):
        self.press(driver, "#button [role=button]")

    def test_button(self):
        driver = self.button(nonce="n")
        first = self.popup(driver, lambda: self.press_button(driver), self.consent)
        self.assertEqual((first["select_by"], first["clientId"]), ("btn_confirm", CLIENT))
        payload = claims(first["credential"])
        self.assertEqual((payload["aud"], payload["nonce"], payload["email"]), (CLIENT, "n", "ada@example.com"))
        self.assertLess(payload["nbf"], payload["iat"])
        self.assertIn("jti", payload)
        driver.execute_script("window.result = null")
        again = self.popup(driver, lambda: self.press_button(driver), self.choose)
        self.assertEqual(again["select_by"], "btn")
        self.assertNotEqual(claims(again["credential"])["jti"], payload["jti"])


class ByPrefix(Flows, ScriptTestCase):
    def frame(self, driver):
        """Waits for the frame of One Tap, and switches to it."""
        driver.switch_to.default_content()
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "iframe[title='Sign in with Google Dialog']"), "One Tap")
        driver.switch_to.frame(driver.find_element(By.CSS_SELECTOR, "iframe[title='Sign in with Google Dialog']"))

    def moments(self, driver, expected):
        driver.switch_to.default_content()
        wait(driver, lambda d: d.execute_script("return moments") == expected, expected)

    def test_one_tap(self):
        for width, height, name in [(1280, 900, "wide"), (390, 844, "phone")]:
            self.control("reset")
            driver = self.button("google.accounts.id.prompt(note)", width=width, height=height, auto_select=False)
            self.frame(driver)
            self.shot(driver, f"google-onetap-{name}")
            self.choose(driver)
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button[value=continue]"))
            self.shot(driver, f"google-onetap-confirm-{name}")
            self.assertIn("Sign in to Buttons with Google", driver.page_source)
            self.press(driver, "button[value=continue]")
            self.moments(driver, [["display", None], ["dismissed", "credential_returned"]])
            result = driver.execute_script("return window.result")
            self.assertEqual(result["select_by"], "user_1tap")
            self.assertEqual(driver.find_elements(By.TAG_NAME, "iframe"), [])
            self.fits(driver, width)
            driver.execute_script("moments.length = 0; google.accounts.id.prompt(note)")
            self.frame(driver)
            self.choose(driver)
            self.moments(driver, [["display", None], ["dismissed", "credential_returned"]])
            self.assertEqual(driver.execute_script("return window.result.select_by"), "user")
            with urllib.request.urlopen(f"{self.origin}/_understudy/") as page:
                text = page.read().decode()
            self.assertIn("Google One Tap", text)
            self.assertIn("Signed in", text)
            self.assertIn("Ada Lovelace", text)

    def test_automatic_sign_in_and_sign_out(self):
        driver = self.button(auto_select=True)
        self.popup(driver, lambda: self.press_button(driver), self.consent)
        driver.execute_script("window.result = null; google.accounts.id.prompt(note)")
        result = wait(driver, lambda d: d.execute_script("return window.result"))
        self.assertEqual(result["select_by"], "auto")
        driver.execute_script("moments.length = 0; google.accounts.id.disableAutoSelect(); google.accounts.id.prompt(note)")
        self.frame(driver)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button.person"))

    def test_closing_one_tap_keeps_it_away(self):
        driver = self.button("google.accounts.id.prompt(note)")
        self.frame(driver)
        self.press(driver, "button[value=cancel]")
        self.moments(driver, [["display", None], ["skipped", "user_cancel"]])
        driver.execute_script("moments.length = 0; google.accounts.id.prompt(note)")
        self.moments(driver, [["display", "suppressed_by_user"]])

    def test_other_ends_of_one_tap(self):
        driver = self.button("google.accounts.id.prompt(note)")
        self.frame(driver)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button.person"))
        self.moments(driver, [["display", None]])
        driver.execute_script("document.body.click()")
        self.moments(driver, [["display", None], ["skipped", "tap_outside"]])
        driver.execute_script("moments.length = 0; google.accounts.id.prompt(note); google.accounts.id.cancel()")
        self.moments(driver, [["dismissed", "cancel_called"]])
        driver.execute_script("moments.length = 0; google.accounts.id.prompt(note); google.accounts.id.prompt(() => {})")
        self.moments(driver, [["dismissed", "flow_restarted"]])
        # The frame that is still loading must not use up the ordered outcome.
        self.frame(driver)
        wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "button.person"))
        driver.switch_to.default_content()
        self.control("outcomes", {"provider": "google", "outcome": "approve", "account": "grace"})
        driver.execute_script("google.accounts.id.cancel(); window.result = null; google.accounts.id.prompt()")
        result = wait(driver, lambda d: d.execute_script("return window.result"))
        self.assertEqual(claims(result["credential"])["email"], "grace@example.com")

    def test_an_origin_that_isnt_registered(self):
        driver = self.button("google.accounts.id.prompt(note)", host="127.0.0.1")
        self.moments(driver, [["display", "unregistered_origin"]])

        def look(driver):
            wait(driver, lambda d: d.find_elements(By.TAG_NAME, "h1"))
            self.assertIn("Error 400: origin_mismatch", driver.page_source)
            self.assertIn("javaScriptOrigins", driver.page_source)
            self.shot(driver, "google-origin-mismatch")
            driver.close()

        self.popup(driver, lambda: self.press_button(driver), look, "return true")
        self.assertIsNone(driver.execute_script("return window.result || null"))
        driver = self.button("google.accounts.id.prompt(note)", client_id="nobody.apps.googleusercontent.com")
        self.moments(driver, [["display", "invalid_client"]])

    def test_a_page_that_lies_about_its_origin_hears_nothing(self):
        driver = self.open("<script>heard=[];addEventListener('message',e=>heard.push(e.data))</script>", host="127.0.0.1")
        query = urllib.parse.urlencode({"client_id": CLIENT, "origin": self.home_page})
        for path in ["select", "iframe"]:
            self.control("outcomes", {"provider": "google", "outcome": "approve", "account": "ada"})
            url = f"{self.origin}/accounts.google.com/gsi/{path}?{query}"
            if path == "select":
                driver.execute_script("window.open(arguments[0], '_blank', 'popup')", url)
            else:
                driver.execute_script(
                    "const f = document.createElement('iframe'); f.src = arguments[0]; f.onload = () => window.loaded = true;"
                    "document.body.append(f)", url)
                wait(driver, lambda d: d.execute_script("return window.loaded"))
            with urllib.request.urlopen(f"{self.origin}/_understudy/v1/requests?host=accounts.google.com") as answer:
                self.assertIn(f"/gsi/{path}", answer.read().decode())
        self.assertEqual(driver.execute_script("return heard"), [])

    def test_login_uri(self):
        """The server gets the credential, and the cross-site token as cookie and field."""
        for mode in ["popup", "redirect"]:
            self.pages.posted.clear()
            self.control("reset")
            driver = self.button(ux_mode=mode, login_uri=f"{self.home_page}/login", callback=None, options="{state: 'b 1'}")
            if mode == "redirect":
                self.press_button(driver)
                self.consent(driver)
            else:
                self.popup(driver, lambda: self.press_button(driver), self.consent, "return document.getElementById('done')")
            posted = wait(driver, lambda d: self.pages.posted)[0]
            self.assertEqual(posted["form"]["g_csrf_token"], posted["cookies"]["g_csrf_token"])
            self.assertEqual(posted["form"]["state"], "b 1")
            self.assertEqual(claims(posted["form"]["credential"])["aud"], CLIENT)

    def test_html(self):
        """The form without calls, as in https://developers.google.com/identity/gsi/web/reference/html-reference."""
        body = f"""<script src="SCRIPT" async></script>
            <div id=g_id_onload data-client_id={CLIENT} data-context=signup data-callback=app.answer data-auto_prompt=true
              data-moment_callback=app.note data-prompt_parent_id=here></div>
            <div id=here></div>
            <div class=g_id_signin data-type=standard data-size=large data-theme=filled_blue data-text=signup_with data-shape=pill
              data-logo_alignment=left></div>
            <script>window.moments = []
              window.app = {{answer: response => window.result = response, note: moment => moments.push([moment.getMomentType(),
                moment.getNotDisplayedReason() || null])}}</script>"""
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.open(body, width=width)
            button = wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".g_id_signin [role=button]"))[0]
            self.assertEqual(button.text, "Sign up with Google")
            self.assertEqual(button.size["height"], 40)
            self.moments(driver, [["display", None]])
            self.assertTrue(driver.execute_script("return document.querySelector('#here iframe') !== null"))
            self.shot(driver, f"google-html-{name}")
        self.frame(driver)
        self.assertIn("Sign up to Buttons with Google", driver.page_source)
        self.choose(driver)
        self.press(driver, "button[value=continue]")
        driver.switch_to.default_content()
        self.assertEqual(wait(driver, lambda d: d.execute_script("return window.result"))["select_by"], "user_1tap")

    def test_bad_values_are_told_in_the_console(self):
        driver = self.open("""<script src="SCRIPT"></script><script>window.told = []; console.error = text => told.push(text)
            google.accounts.id.initialize({client_id: 'c', nonce: 7})
            google.accounts.id.prompt(moment => window.result = moment.getNotDisplayedReason())</script>""")
        self.assertEqual(wait(driver, lambda d: d.execute_script("return window.result")), "missing_client_id")
        self.assertIn("nonce", driver.execute_script("return told")[0])

    def test_revoke(self):
        driver = self.button()
        self.popup(driver, lambda: self.press_button(driver), self.consent)
        for hint, expected in [("ada@example.com", True), ("ada@example.com", False)]:
            driver.execute_script(
                "window.revoked = null; google.accounts.id.revoke(arguments[0], response => window.revoked = response)", hint)
            self.assertEqual(wait(driver, lambda d: d.execute_script("return revoked"))["successful"], expected)

    # MARK: - google.accounts.oauth2

    def client(self, kind, method, host="localhost", **config):
        return self.open(
            OAUTH.replace("KIND", kind).replace("METHOD", method).replace("CLIENT", CLIENT).replace("CONFIG", json.dumps(config)),
            host=host)

    def token(self, code, redirect):
        form = {"grant_type": "authorization_code", "code": code, "client_id": CLIENT, "client_secret": "s", "redirect_uri": redirect}
        request = urllib.request.Request(
            f"{self.origin}/oauth2.googleapis.com/token", data=urllib.parse.urlencode(form).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def test_code_by_pop_up(self):
        driver = self.client("initCodeClient", "requestCode")
        response = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(response["state"], "s 1")
        self.assertIn("https://www.googleapis.com/auth/drive.file", response["scope"])
        tokens = self.token(response["code"], "postmessage")
        self.assertIn("refresh_token", tokens)
        self.assertEqual(claims(tokens["id_token"])["email"], "ada@example.com")

    def test_code_by_redirect(self):
        driver = self.client("initCodeClient", "requestCode", ux_mode="redirect", redirect_uri=f"{self.home_page}/login")
        self.press(driver, "#go")
        self.consent(driver)
        query = wait(driver, lambda d: self.pages.posted)[0]["query"]
        self.assertEqual(query["state"], "s 1")
        self.assertIn("access_token", self.token(query["code"], f"{self.home_page}/login"))

    def test_token_and_its_end(self):
        driver = self.client("initTokenClient", "requestAccessToken")
        response = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual((response["token_type"], response["expires_in"]), ("Bearer", 3599))
        granted = driver.execute_script(
            "const all = google.accounts.oauth2.hasGrantedAllScopes, any = google.accounts.oauth2.hasGrantedAnyScope;"
            "const drive = 'https://www.googleapis.com/auth/drive.file';"
            "return [all(result, drive, 'openid'), all(result, drive, 'x'), any(result, 'x', drive), any(result, 'x')]")
        self.assertEqual(granted, [True, False, True, False])
        for expected in [True, False]:
            driver.execute_script(
                "window.revoked = null; google.accounts.oauth2.revoke(result.access_token, done => window.revoked = done)")
            self.assertEqual(wait(driver, lambda d: d.execute_script("return revoked"))["successful"], expected)

    def test_pop_ups_that_end_badly(self):
        driver = self.client("initCodeClient", "requestCode")
        closed = self.popup(driver, lambda: self.press(driver, "#go"), lambda d: d.close())
        self.assertEqual(closed, {"failed": "popup_closed"})
        driver.execute_script("window.result = null")
        refused = self.popup(driver, lambda: self.press(driver, "#go"), lambda d: self.press(d, "button[value=cancel]"))
        self.assertEqual((refused["error"], refused["state"]), ("access_denied", "s 1"))
        driver.execute_script("window.result = null; window.open = () => null")
        self.press(driver, "#go")
        self.assertEqual(driver.execute_script("return result"), {"failed": "popup_failed_to_open"})
        driver = self.client("initTokenClient", "requestAccessToken", host="127.0.0.1")

        def look(driver):
            wait(driver, lambda d: d.find_elements(By.TAG_NAME, "h1"))
            self.assertIn("Error 400: origin_mismatch", driver.page_source)
            driver.close()

        self.assertEqual(self.popup(driver, lambda: self.press(driver, "#go"), look), {"failed": "popup_closed"})

    def test_the_documented_page(self):
        for width, name in [(1280, "wide"), (390, "phone")]:
            self.control("reset")
            driver = self.open_documented("Sign in with Google", width)
            self.frame(driver)
            self.choose(driver)
            self.press(driver, "button[value=continue]")
            driver.switch_to.default_content()
            answer = wait(driver, lambda d: d.execute_script("return document.getElementById('answer').textContent"))
            self.assertIn("user_1tap", answer)
            self.shot(driver, f"google-documented-{name}")


class ByProxy(Flows, RealNameScriptTestCase):
    pass


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Intercepted(Flows, InterceptedScriptTestCase):
    pass


if __name__ == "__main__":
    unittest.main()
