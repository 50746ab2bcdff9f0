"""The pages under the real names, in browsers that trust the authority as `ca install-hint` says."""

import os
import shutil
import subprocess
import tempfile
import unittest

from selenium import webdriver
from support import BINARY, App, BrowserTestCase, wait


class RealNames(BrowserTestCase):
    """Beside the daemon of the other tests one with an authority and a proxy."""

    def setUp(self):
        super().setUp()
        self.home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = os.environ | {"HOME": self.home}
        authority = ["--ca-directory", f"{self.home}/ca"]
        subprocess.run([BINARY, "ca", "init", *authority], check=True, capture_output=True)
        hints = subprocess.run([BINARY, "ca", "install-hint", *authority], check=True, capture_output=True, text=True)
        self.hints = hints.stdout.split("# ")
        daemon = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--tls-port", "0", "--proxy-port", "0", *authority],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        self.addCleanup(daemon.stdout.close)
        words = daemon.stdout.readline().split()
        self.tls, self.proxy = words[5].rstrip(","), words[-1]

    def follow_hint(self, place):
        commands = next(hint for hint in self.hints if hint.startswith(place)).split("\n", 1)[1]
        subprocess.run(["bash", "-e", "-c", commands], check=True, env=self.environment, capture_output=True)

    def chromium(self):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--proxy-server={self.proxy}"]:
            options.add_argument(argument)
        driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService("/usr/bin/chromedriver", env=self.environment))
        self.addCleanup(driver.quit)
        return driver

    def test_chromium_trusts_it_when_told(self):
        url = "https://appleid.apple.com/auth/keys"
        driver = self.chromium()
        driver.get(url)
        self.assertEqual(driver.title, "Privacy error")
        self.assertIn("ERR_CERT_AUTHORITY_INVALID", driver.page_source)
        self.follow_hint("Chromium")
        # Following it twice does no harm.
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


if __name__ == "__main__":
    unittest.main()
