"""Sign in with Apple JS, in pages that are written after Apple's documentation."""

import json
import unittest

from selenium.webdriver.common.keys import Keys

from script_page import INTERCEPTS, InterceptedScriptTestCase, RealNameScriptTestCase, ScriptTestCase
from support import wait

SCRIPT = "appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/en_US/appleid.auth.js"
CLIENT = "com.example.web.buttons"

BY_CALL = """
<div id=appleid-signin data-color=black data-border=true data-type="sign in"></div>
<button id=go>go</button>
<script src="SCRIPT"></script>
<script>
window.events = []
for (const name of ['AppleIDSignInOnSuccess', 'AppleIDSignInOnFailure'])
  document.addEventListener(name, event => events.push([name, event.detail, event.detail.data]))
AppleID.auth.init(CONFIG)
window.go = async config => {
  window.result = null
  try { window.result = {data: await AppleID.auth.signIn(config)} } catch (error) {
    window.result = {error: error.error || String(error)} }
}
document.getElementById('go').onclick = () => go()
</script>
"""


class Flows:
    script = SCRIPT

    @classmethod
    def seed_text(cls):
        return {"apple": {"teams": [{"id": "A1B2C3D4E5", "services": [{
            "id": client, "primaryApp": "com.example.app", "returnURLs": [f"{cls.home_page}/callback"],
            "allowInsecureReturnURLs": True} for client in [CLIENT, "com.example.web.local"]]}]}}

    def config(self, **changes):
        return {
            "clientId": CLIENT, "scope": "name email", "redirectURI": f"{self.home_page}/callback", "state": "s 1&ü",
            "nonce": "n", "usePopup": True} | changes

    def by_call(self, width=1280, **changes):
        return self.open(BY_CALL.replace("CONFIG", json.dumps(self.config(**changes))), width=width)

    def consent(self, driver):
        self.choose(driver)
        self.press(driver, "button[value=continue]")

    def test_pop_up(self):
        """The promise and the event say the same; `user` comes the first time only."""
        driver = self.by_call()
        first = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        authorization = first["data"]["authorization"]
        self.assertEqual(set(authorization), {"code", "id_token", "state"})
        self.assertEqual(authorization["state"], "s 1&ü")
        self.assertEqual(first["data"]["user"]["name"], {"firstName": "Ada", "lastName": "Lovelace"})
        self.assertEqual(
            driver.execute_script("return events"), [["AppleIDSignInOnSuccess", first["data"], first["data"]]])
        again = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(set(again["data"]), {"authorization"})


class ByPrefix(Flows, ScriptTestCase):
    def test_meta_tags_and_the_drawn_button(self):
        head = "".join(
            f"<meta name=appleid-signin-{name} content='{value}'>" for name, value in [
                ("client-id", CLIENT), ("scope", "email"), ("redirect-uri", f"{self.home_page}/callback"), ("state", "s"),
                ("nonce", "n"), ("use-popup", "true")])
        body = """<script src="SCRIPT"></script>
            <div id=appleid-signin data-color=white data-border=true data-type=continue style="width:210px;height:40px"></div>
            <script>document.addEventListener('AppleIDSignInOnSuccess', event => window.result = event.detail)</script>"""
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.open(body, head, width=width)
            button = driver.find_element("css selector", "#appleid-signin [role=button]")
            self.assertEqual(button.get_attribute("aria-label"), "Continue with Apple")
            self.assertEqual((button.size["width"], button.size["height"]), (210, 40))
            self.shot(driver, f"apple-button-{name}")
        result = self.popup(driver, lambda: button.send_keys(Keys.ENTER), self.consent)
        self.assertEqual(set(result["user"]), {"email"})
        self.assertEqual(result["authorization"]["state"], "s")

    def test_the_button_is_as_large_as_apple_allows(self):
        driver = self.by_call()
        for style, data, expected in [
            ("width:20px;height:5px", {}, (130, 30)), ("width:900px;height:200px", {}, (375, 64)),
            ("", {"width": "200", "height": "50"}, (200, 50)), ("", {"mode": "logo-only", "size": "44"}, (44, 44)),
        ]:
            size = driver.execute_script(
                "const old = document.getElementById('appleid-signin'), wrapper = document.createElement('div');"
                "wrapper.id = old.id; wrapper.style.cssText = arguments[0]; Object.assign(wrapper.dataset, arguments[1]);"
                "old.replaceWith(wrapper); AppleID.auth.renderButton();"
                "const box = wrapper.firstChild.getBoundingClientRect(); return [box.width, box.height]", style, data)
            self.assertEqual(tuple(size), expected, style)

    def test_cancelled_closed_and_begun_anew(self):
        driver = self.by_call()
        cancelled = self.popup(
            driver, lambda: self.press(driver, "#go"), lambda d: self.press(d, "button[value=cancel]"))
        self.assertEqual(cancelled, {"error": "user_cancelled_authorize"})
        closed = self.popup(driver, lambda: self.press(driver, "#go"), lambda d: d.close())
        self.assertEqual(closed, {"error": "popup_closed_by_user"})
        driver.execute_script("events.length = 0; first = AppleID.auth.signIn().catch(error => window.before = error)")
        signed_in = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertIn("data", signed_in)
        self.assertEqual(driver.execute_script("return before"), {"error": "user_trigger_new_signin_flow"})
        self.assertEqual(
            driver.execute_script("return events.map(([name, detail]) => [name, detail.error])"),
            [["AppleIDSignInOnFailure", "user_trigger_new_signin_flow"], ["AppleIDSignInOnSuccess", None]])

    def test_ordered_outcomes(self):
        driver = self.by_call()
        for outcome, expected in [
            ({"outcome": "cancel"}, {"error": "user_cancelled_authorize"}),
            ({"outcome": "error", "error": "server_error"}, {"error": "server_error"}),
        ]:
            self.control("outcomes", {"provider": "apple"} | outcome)
            self.assertEqual(self.popup_without_a_person(driver), expected)
        self.control("outcomes", {"provider": "apple", "outcome": "approve", "account": "grace"})
        self.assertIn("data", self.popup_without_a_person(driver))

    def popup_without_a_person(self, driver):
        driver.execute_script("window.result = null")
        self.press(driver, "#go")
        return wait(driver, lambda d: d.execute_script("return window.result"), "the page's result")

    def test_what_isnt_registered_is_shown_in_the_pop_up(self):
        for changes, word in [
            ({"clientId": "com.example.nothing"}, "invalid_client"),
            ({"redirectURI": f"{self.home_page}/elsewhere"}, "Invalid web redirect url."),
        ]:
            driver = self.by_call(**changes)

            def look(driver):
                wait(driver, lambda d: d.find_elements("tag name", "h1"))
                self.assertIn(word, driver.page_source)
                self.shot(driver, f"apple-popup-{word.split()[0]}")
                driver.close()

            self.assertEqual(self.popup(driver, lambda: self.press(driver, "#go"), look), {"error": "popup_closed_by_user"})

    def test_a_page_of_another_origin_hears_nothing(self):
        self.pages.pages["/"] = ""
        body = BY_CALL.replace("CONFIG", json.dumps(self.config()))
        driver = self.open(body + "<script>heard=[];addEventListener('message',e=>heard.push(e.data))</script>", host="127.0.0.1")
        result = self.popup(driver, lambda: self.press(driver, "#go"), self.consent)
        self.assertEqual(result, {"error": "popup_closed_by_user"})
        self.assertEqual(driver.execute_script("return heard"), [])

    def test_bad_values(self):
        driver = self.by_call()
        for config, word in [("{nonce: 7}", "nonce"), ("{state: {}}", "state"), ("{usePopup: 'yes'}", "usePopup")]:
            driver.execute_script(f"go({config})")
            error = wait(driver, lambda d: d.execute_script("return window.result"))["error"]
            self.assertIn(f'"{word}"', error)
        self.assertEqual(len(driver.window_handles), 1)

    def test_redirect(self):
        """Without a pop-up, the answer is posted to the return URL."""
        driver = self.by_call(usePopup=False)
        self.press(driver, "#appleid-signin [role=button]")
        self.consent(driver)
        wait(driver, lambda d: self.pages.posted)
        form = self.pages.posted[0]["form"]
        self.assertEqual(form["state"], "s 1&ü")
        self.assertEqual(json.loads(form["user"])["name"]["firstName"], "Ada")
        self.assertIn("id_token", form)

    def test_the_documented_page(self):
        for width, name in [(1280, "wide"), (390, "phone")]:
            driver = self.open_documented("Sign in with Apple JS", width)
            answer = self.popup(
                driver, lambda: self.press(driver, "#appleid-signin [role=button]"), self.consent,
                "return document.getElementById('answer').textContent")
            self.assertEqual(json.loads(answer)["authorization"]["state"], "a state")
            self.shot(driver, f"apple-documented-{name}")

    def test_an_element_that_signs_in_by_itself(self):
        """Wrappers listen at the element in which the button is drawn."""
        driver = self.by_call()
        driver.execute_script("document.getElementById('appleid-signin').onclick = () => go()")
        result = self.popup(driver, lambda: self.press(driver, "#appleid-signin [role=button]"), self.consent)
        self.assertIn("data", result)
        self.assertEqual(len(driver.execute_script("return events")), 1)

    def test_a_world_by_its_path(self):
        self.control("worlds", {"name": "other"})
        driver = self.open(
            BY_CALL.replace("SCRIPT", f"{self.origin}/~other/{SCRIPT}").replace("CONFIG", json.dumps(self.config())))
        result = self.popup(driver, lambda: self.press(driver, "#go"), lambda d: (
            self.assertIn("/~other/appleid.apple.com/", d.current_url), self.consent(d)))
        self.assertIn("data", result)


class ByProxy(Flows, RealNameScriptTestCase):
    pass


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Intercepted(Flows, InterceptedScriptTestCase):
    pass


if __name__ == "__main__":
    unittest.main()
