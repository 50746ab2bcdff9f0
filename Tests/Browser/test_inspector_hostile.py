"""Tests that pages show everything in a request as text: markup, scripts, bidirectional text, bytes that aren't
UTF-8."""

import base64
import json
import unittest
import urllib.parse

from inspector import InspectorTestCase

MARKUP = "\"'><script>window.hacked=1</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>"
BIDI = "\u202e\u2066txt.exe\u200f\u061c\u202d"
BYTES = b"\xff\xfe\xc0\xaf\x00\x01\x1b[31m\xed\xa0\x80\xf8"
AREAS = ["", "people", "users", "inbox", "orders", "orders/scenarios", "orders/tokens", "clock", "worlds", "setup",
         "explain", "help"]


def jwt(claims):
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    return f"{part({'alg': 'RS256', 'kid': MARKUP})}.{part(claims)}.{'A' * 342}"


class HostileExchanges(InspectorTestCase):
    def send(self):
        """One hostile value in each place that a request has."""
        value = urllib.parse.quote(MARKUP + BIDI)
        raw = urllib.parse.quote_from_bytes(BYTES)
        agent = {"User-Agent": MARKUP, "Cookie": f"a={MARKUP}", "Referer": f"javascript:{MARKUP}"}
        for text in [value, raw]:
            query = "&".join(
                f"{name}={text}" for name in ["client_id", "redirect_uri", "state", "scope", "nonce", "response_type", text])
            for path in ["appleid.apple.com/auth/authorize", "github.com/login/oauth/authorize",
                         "accounts.google.com/o/oauth2/v2/auth", "www.facebook.com/v19.0/dialog/oauth",
                         f"appleid.apple.com/{text}", f"api.github.com/users/{text}", "oidc/corp/authorize"]:
                self.ask(f"{path}?{query}", headers=agent)
        token = jwt({"iss": "https://appleid.apple.com", "aud": MARKUP, "sub": BIDI, "nonce": MARKUP, "email": MARKUP,
                     "exp": 1e300, "iat": -1e300, MARKUP: [MARKUP, {BIDI: MARKUP}], "name": "n" * 60000})
        form = urllib.parse.urlencode({
            "grant_type": "authorization_code", "code": MARKUP, "client_id": BIDI, "client_secret": token,
            "redirect_uri": "javascript:window.hacked=1", MARKUP: BIDI}).encode()
        for path in ["appleid.apple.com/auth/token", "github.com/login/oauth/access_token", "oauth2.googleapis.com/token"]:
            self.ask(path, data=form)
            self.ask(path, data=BYTES * 100)
            self.ask(path, data=b"<script>window.hacked=1</script>" * 30000)
        toolkit = "identitytoolkit.googleapis.com/v1/accounts"
        for body in [
            {"postBody": f"id_token={token}&providerId=apple.com&nonce={value}", "requestUri": "javascript:window.hacked=1"},
            {MARKUP: {BIDI: [MARKUP] * 1000}},
        ]:
            self.ask(f"{toolkit}:signInWithIdp?key=demo-api-key", data=json.dumps(body).encode(),
                     headers={"Content-Type": "application/json", "X-Client-Version": MARKUP})
        user = {"email": "hostile@example.com", "password": "secret1", "displayName": MARKUP + BIDI,
                "photoUrl": "javascript:window.hacked=1", "returnSecureToken": True}
        self.ask(f"{toolkit}:signUp?key=demo-api-key", data=json.dumps(user).encode(),
                 headers={"Content-Type": "application/json"})
        self.ask(f"{toolkit}:sendOobCode?key=demo-api-key", headers={"Content-Type": "application/json"},
                 data=json.dumps({"requestType": "PASSWORD_RESET", "email": "hostile@example.com",
                                  "continueUrl": "http://localhost/" + value}).encode())
        self.control("accounts", {"id": "hostile", "email": "h@example.com", "name": {"given": MARKUP, "family": BIDI}})
        self.control("faults", {"match": {"fields": {MARKUP: BIDI}},
                                "effect": {"status": 500, "body": MARKUP, "headers": {"X-Mark": "<script>"}}})
        self.control("outcomes", {"provider": "openid", "outcome": "error", "error": MARKUP + BIDI})

    def links(self, driver):
        return driver.execute_script(
            "return [...document.querySelectorAll('main a[href], main svg a')].map(a=>a.href.baseVal||a.href)")

    def check(self, driver, url, width):
        driver.get(url)
        self.assertIsNone(driver.execute_script("return window.hacked||null"), url)
        # Every script is a file of ours, and no element has a handler.
        self.assertEqual(driver.execute_script(
            "return [...document.scripts].filter(s=>!s.src.includes('/_understudy/assets/')||s.textContent).length"), 0, url)
        self.assertEqual(driver.execute_script(
            "return [...document.querySelectorAll('*')].filter(e=>[...e.attributes]"
            ".some(a=>a.name.startsWith('on')||a.name==='style')).length"), 0, url)
        for link in self.links(driver):
            self.assertRegex(link, r"^(https?|mailto):|^data:,", url)
        self.fits(driver, width)
        for entry in driver.get_log("browser"):
            self.assertNotIn("Content Security Policy", entry["message"], url)

    def test_nothing_of_it_is_markup(self):
        self.send()
        recorded = json.loads(self.ask("_understudy/v1/requests?limit=1000")[1])["requests"]
        self.assertGreater(len(recorded), 25)
        pages = [self.page(area) for area in AREAS]
        pages += [self.page(f"requests/{r['id']}") for r in recorded]
        pages += [self.page(f"flows/{flow}") for flow in sorted({r["flow"] for r in recorded})]
        pages += [self.page("people/hostile")]
        pages += [self.page(f"requests/{recorded[0]['id']}?with={r['id']}") for r in recorded[1:4]]
        driver = self.browser()
        for place, url in enumerate(pages):
            width, height = [(1280, 900), (390, 844)][place % 2]
            self.size(driver, width, height)
            self.check(driver, url, width)
            self.assertLess(len(driver.page_source), 2 << 20, url)
        # The pages of users and mails, which are linked from there, are checked, too.
        for area in ["users", "inbox"]:
            driver.get(self.page(area))
            for url in [link for link in self.links(driver) if f"/_understudy/{area}/" in link][:5]:
                self.check(driver, url, 390)


if __name__ == "__main__":
    unittest.main()
