"""The browser's own dialog (FedCM) for Google Identity Services, over TLS."""

import json
import unittest

from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By

from script_page import INTERCEPTS, InterceptedScriptTestCase, RealNameScriptTestCase
from support import wait
from test_google_script import CLIENT, claims
from test_google_script import Flows as ScriptFlows

PAGE = """
<div id=button></div>
<script src="SCRIPT"></script>
<script>
window.moments = []
window.begin = config => {
  window.result = null
  moments.length = 0
  google.accounts.id.initialize({client_id: 'CLIENT', callback: response => window.result = response, ...config})
}
window.prompt = config => {
  begin({use_fedcm_for_prompt: true, ...config})
  google.accounts.id.prompt(moment => moments.push([moment.getMomentType(), moment.getDismissedReason() || null]))
}
</script>
"""


class Options(webdriver.ChromeOptions):
    """Options of a browser whose dialogs a test answers."""

    def __init__(self):
        super().__init__()
        self.set_capability("fedcm:accounts", True)


class Flows:
    script = "accounts.google.com/gsi/client"
    seed_text = ScriptFlows.__dict__["seed_text"]

    def start(self, width, height):
        plain, webdriver.ChromeOptions = webdriver.ChromeOptions, Options
        try:
            return super().start(width, height)
        finally:
            webdriver.ChromeOptions = plain

    def page(self):
        driver = self.open(PAGE.replace("CLIENT", CLIENT))
        wait(driver, lambda d: d.execute_script("return window.google && google.accounts"))
        driver.fedcm.disable_delay()
        return driver

    def dialog(self, driver):
        """Waits for the dialog, and returns its accounts."""

        def accounts(driver):
            try:
                return driver.fedcm.account_list
            except NoAlertPresentException:
                return []

        return wait(driver, accounts, "the browser's dialog")

    def select(self, driver, email):
        accounts = self.dialog(driver)
        place = next(place for place, account in enumerate(accounts) if account["email"] == email)
        driver.fedcm.select_account(place)
        return accounts[place]

    def result(self, driver):
        return wait(driver, lambda d: d.execute_script("return window.result"), "the credential")

    def moments(self, driver, expected):
        wait(driver, lambda d: d.execute_script("return moments") == expected, expected)

    def test_prompt(self):
        driver = self.page()
        driver.execute_script("prompt({nonce: 'n', context: 'signup'})")
        self.assertEqual(self.select(driver, "ada@example.com")["loginState"], "SignUp")
        result = self.result(driver)
        payload = claims(result["credential"])
        self.assertEqual((result["select_by"], payload["aud"], payload["nonce"]), ("fedcm", CLIENT, "n"))
        self.moments(driver, [["dismissed", "credential_returned"]])
        # She has consented, so she isn't asked again.
        driver.execute_script("prompt({auto_select: true})")
        self.assertEqual(self.result(driver)["select_by"], "fedcm_auto")
        driver.execute_script("google.accounts.id.disableAutoSelect(); prompt({auto_select: true})")
        self.dialog(driver)
        driver.execute_script("google.accounts.id.cancel()")
        self.moments(driver, [["dismissed", "cancel_called"]])


class ByProxy(Flows, RealNameScriptTestCase):
    def test_button(self):
        driver = self.page()
        driver.execute_script(
            "begin({use_fedcm_for_button: true}); google.accounts.id.renderButton(document.getElementById('button'), {state: 'b'})")
        driver.find_element(By.CSS_SELECTOR, "#button [role=button]").click()
        self.select(driver, "grace@example.com")
        result = self.result(driver)
        self.assertEqual((result["select_by"], result["state"]), ("btn", "b"))
        self.assertEqual(claims(result["credential"])["email"], "grace@example.com")

    def test_closing_the_dialog(self):
        driver = self.page()
        driver.execute_script("prompt()")
        self.dialog(driver)
        driver.fedcm.dismiss()
        self.moments(driver, [["skipped", None]])

    def test_a_page_that_may_not(self):
        """Checks the results of a page that calls the browser's API itself, and of one that was disconnected."""
        driver = self.page()
        call = """window.result = null
            navigator.credentials.get({mediation: 'required', identity: {providers: [
              {configURL: 'https://accounts.google.com/gsi/fedcm.json', clientId: arguments[0]}]}})
            .then(credential => window.result = {token: credential.token}, error => window.result = {error: error.error})"""
        driver.execute_script(call, "nobody.apps.googleusercontent.com")
        self.select(driver, "ada@example.com")
        wait(driver, lambda d: d.fedcm.dialog_type == "Error")
        driver.fedcm.dismiss()
        self.assertEqual(self.result(driver), {"error": "invalid_client"})
        driver.execute_script(call, CLIENT)
        self.select(driver, "ada@example.com")
        self.assertEqual(claims(self.result(driver)["token"])["email"], "ada@example.com")
        driver.execute_script(
            "IdentityCredential.disconnect({configURL: 'https://accounts.google.com/gsi/fedcm.json', clientId: arguments[0],"
            "accountHint: 'ada@example.com'}).then(() => window.result = 'over', error => window.result = String(error))", CLIENT)
        wait(driver, lambda d: d.execute_script("return window.result") == "over", "the disconnection")
        driver.execute_script("prompt()")
        accounts = self.dialog(driver)
        self.assertEqual({account["loginState"] for account in accounts}, {"SignUp"}, json.dumps(accounts))


class ByPrefix(Flows, RealNameScriptTestCase):
    def source(self):
        """Returns the script's address below the daemon's own address with TLS."""
        return f"{self.tls.replace('127.0.0.1', 'localhost')}/{self.script}"


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Intercepted(Flows, InterceptedScriptTestCase):
    pass


if __name__ == "__main__":
    unittest.main()
