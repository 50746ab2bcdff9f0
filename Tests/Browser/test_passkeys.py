"""Firebase's passkeys with Chromium's virtual authenticator, by a page that sends what the web SDK sends."""

import http.server
import threading

from selenium.webdriver.common.virtual_authenticator import Protocol, Transport, VirtualAuthenticatorOptions

from support import BrowserTestCase

PAGE = """<!doctype html><title>Passkeys</title><script>
const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0));
const base64url = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '');
async function call(path, body) {
    const answer = await fetch(`${daemon}/identitytoolkit.googleapis.com/${path}?key=demo-api-key`,
        {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
    const json = await answer.json();
    if (!answer.ok) throw new Error(json.error.message);
    return json;
}
function sent(credential) {
    const response = {};
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
        if (credential.response[name]) response[name] = base64url(credential.response[name]);
    return {id: credential.id, type: credential.type, rawId: base64url(credential.rawId), response};
}
async function enrol(idToken, name) {
    const publicKey = (await call('v2/accounts/passkeyEnrollment:start', {idToken})).credentialCreationOptions;
    publicKey.challenge = bytes(publicKey.challenge);
    publicKey.user = {id: bytes(publicKey.user.id), name, displayName: name};
    for (const known of publicKey.excludeCredentials || []) known.id = bytes(known.id);
    const credential = await navigator.credentials.create({publicKey});
    return call('v2/accounts/passkeyEnrollment:finalize',
        {idToken, authenticatorRegistrationResponse: sent(credential), name, displayName: name});
}
async function signIn() {
    const publicKey = (await call('v2/accounts/passkeySignIn:start', {})).credentialRequestOptions;
    publicKey.challenge = bytes(publicKey.challenge);
    const credential = await navigator.credentials.get({publicKey});
    return call('v2/accounts/passkeySignIn:finalize', {authenticatorAuthenticationResponse: sent(credential)});
}
</script>"""


class Page(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())


class Passkeys(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=cls.pages.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.pages.shutdown()
        super().tearDownClass()

    def opened(self, is_verified=True):
        driver = self.browser()
        options = VirtualAuthenticatorOptions()
        options.protocol = Protocol.CTAP2
        options.transport = Transport.INTERNAL
        options.has_resident_key = True
        options.has_user_verification = True
        options.is_user_verified = is_verified
        driver.add_virtual_authenticator(options)
        driver.get(f"http://localhost:{self.pages.server_port}/")
        driver.execute_script("window.daemon = arguments[0]", self.origin)
        return driver

    def run_script(self, driver, script, *arguments):
        """Waits for a promise, and returns its value, or the name and the message of its error."""
        return driver.execute_async_script(
            f"const done = arguments[arguments.length - 1];"
            f"(async () => {{ {script} }})().then(done, error => done({{error: error.name + ': ' + error.message}}))",
            *arguments)

    def signed_up(self, driver):
        return self.run_script(
            driver, "return call('v1/accounts:signUp', {email: 'ada@example.org', password: 'correct horse'})")

    def test_enrol_and_sign_in(self):
        driver = self.opened()
        user = self.signed_up(driver)
        enrolled = self.run_script(driver, "return enrol(arguments[0], 'Ada')", user["idToken"])
        self.assertEqual(enrolled.get("localId"), user["localId"], enrolled)
        for _ in range(2):
            signed_in = self.run_script(driver, "return signIn()")
            self.assertIn("idToken", signed_in, signed_in)
            found = self.run_script(driver, "return call('v1/accounts:lookup', {idToken: arguments[0]})", signed_in["idToken"])
            self.assertEqual(found["users"][0]["localId"], user["localId"])
            self.assertEqual([key["name"] for key in found["users"][0]["passkeyInfo"]], ["Ada"])
        again = self.run_script(driver, "return enrol(arguments[0], 'Ada')", user["idToken"])
        self.assertTrue(again["error"].startswith("InvalidStateError"), again)

    def test_deleted(self):
        driver = self.opened()
        user = self.signed_up(driver)
        self.run_script(driver, "return enrol(arguments[0], 'Ada')", user["idToken"])
        deleted = self.run_script(
            driver,
            "const {users} = await call('v1/accounts:lookup', {idToken: arguments[0]});"
            "const deletePasskey = users[0].passkeyInfo.map(key => key.credentialId);"
            "return call('v1/accounts:update', {idToken: arguments[0], deletePasskey})", user["idToken"])
        self.assertIn("refreshToken", deleted, deleted)
        self.assertEqual(self.run_script(driver, "return signIn()")["error"], "Error: PASSKEY_CREDENTIAL_NOT_FOUND")

    def test_nobody_verified(self):
        driver = self.opened(is_verified=False)
        user = self.signed_up(driver)
        refused = self.run_script(driver, "return enrol(arguments[0], 'Ada')", user["idToken"])
        self.assertTrue(refused["error"].startswith("NotAllowedError"), refused)
