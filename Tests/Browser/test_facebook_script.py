"""Facebook's SDK for JavaScript, in pages that are written after Facebook's documentation."""

import base64
import hashlib
import hmac
import json
import unittest
import urllib.parse
import urllib.request

from selenium.webdriver.common.by import By

from script_page import INTERCEPTS, InterceptedScriptTestCase, RealNameScriptTestCase, ScriptTestCase
from support import wait

APP, SECRET = "5550001", "a secret"

PAGE = """
<div id=fb-root></div>
<button id=go>go</button>
<script>
window.events = []
window.fbAsyncInit = () => {
  FB.init({appId: 'APP', cookie: true, version: 'v22.0', ...CONFIG})
  for (const name of ['auth.login', 'auth.authResponseChange', 'auth.statusChange', 'auth.logout'])
    FB.Event.subscribe(name, response => events.push([name, response.status]))
  FB.getLoginStatus(response => window.status_ = response)
}
document.getElementById('go').onclick = () => FB.login(response => window.result = response, OPTIONS)
</script>
<script async defer crossorigin="anonymous" src="SCRIPT"></script>
"""


def signed(text):
    """Verifies a signed request, and returns its contents."""
    signature, payload = text.split(".")
    padded = lambda part: base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    assert hmac.compare_digest(padded(signature), hmac.new(SECRET.encode(), payload.encode(), hashlib.sha256).digest())
    return json.loads(padded(payload))


class Flows:
    script = "connect.facebook.net/en_US/sdk.js"

    @classmethod
    def seed_text(cls):
        app = {"appSecret": SECRET, "name": "Buttons", "redirectURIs": [f"{cls.home_page}/callback"]}
        return {"facebook": {"apps": [
            app | {"appID": APP, "javaScriptOrigins": [cls.home_page]},
            app | {"appID": "5550002"},
        ]}}

    def page(self, config=None, options="{scope: 'public_profile,email', return_scopes: true}", app=APP, **more):
        body = PAGE.replace("APP", app).replace("CONFIG", json.dumps(config or {})).replace("OPTIONS", options)
        driver = self.open(body, **more)
        wait(driver, lambda d: d.execute_script("return window.status_"), "the status")
        return driver

    def consent(self, driver):
        self.choose(driver)
        self.press(driver, "button[value=continue]")

    def call(self, driver, code):
        """Runs a call, and returns what its callback gets."""
        driver.execute_script(f"window.answer = undefined; {code.replace('CALLBACK', 'answer_ => window.answer = answer_')}")
        return wait(driver, lambda d: d.execute_script("return window.answer"), code)

    def test_login(self):
        driver = self.page()
        self.assertEqual(driver.execute_script("return status_"), {"status": "unknown", "authResponse": None})
        response = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(response["status"], "connected")
        answer = response["authResponse"]
        self.assertEqual(set(answer), {
            "accessToken", "userID", "expiresIn", "signedRequest", "graphDomain", "data_access_expiration_time", "grantedScopes"})
        self.assertEqual((answer["expiresIn"], answer["graphDomain"], answer["grantedScopes"]), (7200, "facebook", "public_profile,email"))
        request = signed(answer["signedRequest"])
        self.assertEqual((request["user_id"], request["algorithm"]), (answer["userID"], "HMAC-SHA256"))
        self.assertEqual(driver.execute_script("return FB.getAuthResponse()"), answer)
        self.assertEqual(
            driver.execute_script("return events"),
            [["auth.statusChange", "connected"], ["auth.authResponseChange", "connected"], ["auth.login", "connected"]])
        me = self.call(driver, "FB.api('/me', {fields: 'id,name,email'}, CALLBACK)")
        self.assertEqual(me, {"id": answer["userID"], "name": "Ada Lovelace", "email": "ada@example.com"})


class ByPrefix(Flows, ScriptTestCase):
    def test_the_server_reads_the_cookie_and_redeems_its_code(self):
        driver = self.page()
        self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        cookie = driver.get_cookie(f"fbsr_{APP}")["value"]
        query = {"client_id": APP, "client_secret": SECRET, "redirect_uri": "", "code": signed(cookie)["code"]}
        address = f"{self.origin}/graph.facebook.com/v22.0/oauth/access_token?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address) as answer:
            self.assertIn("access_token", json.load(answer))

    def test_status_after_reloading_and_logout(self):
        driver = self.page()
        first = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)["authResponse"]
        driver.refresh()
        status = wait(driver, lambda d: d.execute_script("return window.status_"))
        self.assertEqual((status["status"], status["authResponse"]["userID"]), ("connected", first["userID"]))
        token = status["authResponse"]["accessToken"]
        self.assertNotEqual(token, first["accessToken"])
        out = self.call(driver, "FB.logout(CALLBACK)")
        self.assertEqual(out, {"status": "unknown", "authResponse": None})
        self.assertIn(["auth.logout", "unknown"], driver.execute_script("return events"))
        refused = self.call(driver, f"FB.api('/me', {{access_token: '{token}'}}, CALLBACK)")
        self.assertEqual(refused["error"]["type"], "OAuthException")
        driver.refresh()
        self.assertEqual(wait(driver, lambda d: d.execute_script("return window.status_"))["status"], "unknown")

    def test_somebody_who_has_removed_the_app(self):
        driver = self.page()
        self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(self.call(driver, "FB.api('/me/permissions', 'delete', CALLBACK)"), {"success": True})
        self.assertEqual(self.call(driver, "FB.getLoginStatus(CALLBACK, true)"), {"status": "not_authorized", "authResponse": None})

    def test_what_was_declined_is_asked_for_again(self):
        driver = self.page()

        def decline(driver):
            self.choose(driver)
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "input[value=email]"))
            driver.find_element(By.CSS_SELECTOR, "input[value=email]").click()
            self.press(driver, "button[value=continue]")

        first = self.popup(driver, lambda: self.press(driver, "#go"), decline)
        self.assertEqual(first["authResponse"]["grantedScopes"], "public_profile")

        def again(driver):
            self.choose(driver)
            wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "input[value=email]"))
            self.press(driver, "button[value=continue]")

        driver.execute_script("window.result = null")
        result = self.popup(driver, lambda: driver.execute_script(
            "FB.login(response => window.result = response, {scope: 'email', auth_type: 'rerequest', return_scopes: true})"), again)
        self.assertEqual(result["authResponse"]["grantedScopes"], "public_profile,email")

    def test_cancelled_and_closed(self):
        driver = self.page()
        refused = {"status": "unknown", "authResponse": None}
        self.assertEqual(self.popup(driver, lambda: self.press(driver, "#go"), lambda d: self.press(d, "button[value=cancel]")), refused)
        driver.execute_script("window.result = null")
        self.assertEqual(self.popup(driver, lambda: self.press(driver, "#go"), lambda d: d.close()), refused)

    def test_business_login(self):
        driver = self.page(options="{config_id: '77', response_type: 'code', override_default_response_type: true}")
        response = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(response["status"], "connected")
        self.assertTrue(response["authResponse"]["code"])

    def test_pages_that_may_not(self):
        for app, host, words in [
            (APP, "127.0.0.1", "JSSDK Unknown Host Domain"), ("5550002", "localhost", "JSSDK Option is Not Toggled"),
            ("5550003", "localhost", "Invalid App ID"),
        ]:
            driver = self.page(app=app, host=host)

            def look(driver):
                wait(driver, lambda d: d.find_elements(By.TAG_NAME, "h1"))
                self.assertIn(words, driver.page_source)
                self.shot(driver, f"facebook-{app}")
                driver.close()

            result = self.popup(driver, lambda: self.press(driver, "#go"), look)
            self.assertEqual(result, {"status": "unknown", "authResponse": None})

    def test_a_page_that_lies_about_its_origin_hears_nothing(self):
        driver = self.open("<script>heard=[];addEventListener('message',e=>heard.push(e.data))</script>", host="127.0.0.1")
        self.control("outcomes", {"provider": "facebook", "outcome": "approve", "account": "ada"})
        relay = f"https://staticxx.facebook.com/x/connect/xd_arbiter/?version=46&origin={urllib.parse.quote(self.home_page, '')}"
        query = urllib.parse.urlencode({"client_id": APP, "response_type": "token", "redirect_uri": relay})
        driver.execute_script("window.open(arguments[0], '_blank', 'popup')", f"{self.origin}/www.facebook.com/v22.0/dialog/oauth?{query}")
        wait(driver, lambda d: len(d.window_handles) == 1, "the pop-up's end")
        self.assertEqual(driver.execute_script("return heard"), [])

    def test_a_forged_signed_request(self):
        driver = self.page()
        driver.execute_script(f"localStorage.setItem('fbsr_{APP}', 'AAAA.eyJ1c2VyX2lkIjoiMTAxNTAwMDAwMDAwMDAwMDEifQ')")
        self.assertEqual(self.call(driver, "FB.getLoginStatus(CALLBACK, true)"), {"status": "unknown", "authResponse": None})

    def test_the_login_button(self):
        body = f"""<div class="fb-login-button" data-size=large data-button-type=continue_with data-scope=email onlogin="checked()"
              data-auto-logout-link=true></div>
            <script>window.checked = () => FB.getLoginStatus(response => window.result = response)</script>
            <script src="SCRIPT#xfbml=1&version=v22.0&appId={APP}"></script>"""
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.open(body, width=width)
            button = wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".fb-login-button [role=button]"))[0]
            self.assertEqual(button.text, "Continue with Facebook")
            self.shot(driver, f"facebook-button-{name}")
        result = self.popup(driver, button.click, self.consent)
        self.assertEqual(result["status"], "connected")
        self.assertEqual(button.text, "Log out")

    def test_the_documented_page(self):
        for width, name in [(1280, "wide"), (390, "phone")]:
            self.control("reset")
            driver = self.open_documented("Facebook’s SDK", width)
            answer = self.popup(
                driver, lambda: self.press(driver, "button"), self.consent, "return document.getElementById('answer').textContent")
            self.assertIn("Ada Lovelace", answer)
            self.shot(driver, f"facebook-documented-{name}")


class ByProxy(Flows, RealNameScriptTestCase):
    pass


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Intercepted(Flows, InterceptedScriptTestCase):
    pass


if __name__ == "__main__":
    unittest.main()
