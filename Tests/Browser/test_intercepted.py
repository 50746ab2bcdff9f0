"""A browser that a command under `exec --intercept` starts: it goes to the real names, and nothing was changed about it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["UNDERSTUDY_BINARY"]
# This checks whether the system allows namespaces, and doesn't use the program under test.
INTERCEPTS = subprocess.run(["unshare", "--map-root-user", "--mount", "--net", "true"]).returncode == 0

SCRIPT = """
import json
import sys

from selenium import webdriver

options = webdriver.ChromeOptions()
for argument in ["--headless=new", "--no-sandbox", f"--user-data-dir={sys.argv[1]}"]:
    options.add_argument(argument)
driver = webdriver.Chrome(options=options)
try:
    driver.get("https://appleid.apple.com/auth/keys")
    keys = driver.find_element("css selector", "pre").text
    driver.get(
        "https://appleid.apple.com/auth/authorize?client_id=com.example.web&response_type=code&state=s"
        "&redirect_uri=https%3A%2F%2Fexample.com%2Fcallback")
    page = driver.find_element("css selector", "h1").text
    people = [button.text for button in driver.find_elements("css selector", "button[name=account]")]
    next(b for b in driver.find_elements("css selector", "button[name=account]") if "Ada" in b.text).click()
    print(json.dumps({"keys": keys, "people": people, "url": driver.current_url, "page": page}))
finally:
    driver.quit()
"""


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Intercepted(unittest.TestCase):
    def browse(self, *options):
        with tempfile.TemporaryDirectory() as home:
            result = subprocess.run(
                [BINARY, "exec", "--log-file", os.devnull, "--intercept", *options, "--", sys.executable, "-c", SCRIPT,
                 f"{home}/profile"],
                capture_output=True, text=True, timeout=120, env=os.environ | {"HOME": home})
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(os.listdir(f"{home}/.pki/nssdb"), [], "the store is gone with the command")
            return json.loads(result.stdout)

    def test_signs_in_under_the_real_name(self):
        for options in [[], ["--isolate"]]:
            with self.subTest(options):
                seen = self.browse(*options)
                self.assertIn('"kty":"RSA"', seen["keys"])
                self.assertTrue(any("Ada" in person for person in seen["people"]), seen)
                self.assertTrue(seen["url"].startswith("https://"), seen)


if __name__ == "__main__":
    unittest.main()
