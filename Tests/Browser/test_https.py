"""The pages under the real names, in browsers that trust the authority as `ca install-hint` says."""

import os
import subprocess
import unittest

from support import App, AuthorityTestCase, wait
from web_app import WebAppTestCase


class RealNames(AuthorityTestCase):
    def test_chromium_trusts_it_when_told(self):
        url = "https://appleid.apple.com/auth/keys"
        driver = self.chromium()
        driver.get(url)
        self.assertEqual(driver.title, "Privacy error")
        self.assertIn("ERR_CERT_AUTHORITY_INVALID", driver.page_source)
        self.follow_hint("Chromium")
        # The instructions can be followed twice.
        self.follow_hint("Chromium")
        driver = self.chromium()
        driver.get(url)
        self.assertIn('"kty":"RSA"', driver.page_source)

    def test_sign_in_under_the_real_name(self):
        self.follow_hint("Chromium")
        driver = self.chromium()
        callback = f"http://127.0.0.1:{self.app.server_port}/callback"
        driver.get(
            "https://github.com/login/oauth/authorize?client_id=178c6fc778ccc68e1d6a&scope=read:user&state=s"
            f"&redirect_uri={callback}")
        self.assertTrue(driver.current_url.startswith("https://github.com/login"), driver.current_url)
        self.shot(driver, "https-github")
        self.assertEqual(driver.execute_script("return isSecureContext"), True)
        self.person(driver, "Ada").click()
        wait(driver, lambda d: d.find_elements("css selector", "button[name=authorize][value='1']"))
        self.shot(driver, "https-github-consent")
        driver.find_element("css selector", "button[name=authorize][value='1']").click()
        wait(driver, lambda d: App.seen)
        self.assertEqual(App.seen[0]["query"]["state"], "s")
        self.assertIn("code", App.seen[0]["query"])

    def test_firefox_store(self):
        """Firefox's library, NSS, with the store of a Firefox profile."""
        profile = f"{self.home}/.mozilla/firefox/tests.default"
        os.makedirs(profile)
        subprocess.run(["certutil", "-d", f"sql:{profile}", "-N", "--empty-password"], check=True)
        port = self.tls.rsplit(":", 1)[1]
        for is_told in [False, True]:
            if is_told:
                self.follow_hint("Firefox")
            # NSS's client doesn't end by itself when all went well.
            result = subprocess.run(
                ["timeout", "5", "tstclnt", "-h", "127.0.0.1", "-a", "appleid.apple.com", "-p", port, "-d", f"sql:{profile}"],
                input="GET /auth/keys HTTP/1.0\r\nHost: appleid.apple.com\r\n\r\n", capture_output=True, text=True)
            self.assertEqual("HTTP/1.1 200 OK" in result.stdout, is_told, result)


class PopUpsUnderTheRealNames(AuthorityTestCase, WebAppTestCase):
    """The app's page is on localhost, and names no daemon."""

    def app_page(self):
        self.follow_hint("Chromium")
        driver = self.chromium()
        driver.get(f"http://localhost:{self.web.server_port}/app")
        return driver

    def test_popups(self):
        driver = self.app_page()
        for provider in ["github.com", "facebook.com"]:
            signed_in = self.popup(driver, provider)
            self.assertEqual(signed_in.get("providerId"), provider, signed_in)
        source = driver.execute_script("return document.querySelector('iframe').src")
        self.assertTrue(source.startswith("https://demo-app.firebaseapp.com/__/auth/iframe?"), source)

    def test_a_redirect_to_another_site_has_no_result(self):
        """Checks that there is no result, as in production: the browser partitions the frame's storage in this page."""
        self.assertEqual(self.redirect(self.app_page(), "github.com"), {"error": "auth/no-auth-event", "urlResponse": None})


if __name__ == "__main__":
    unittest.main()
