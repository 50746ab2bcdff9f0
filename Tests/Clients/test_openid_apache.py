"""OpenID Connect in front of a web site: mod_auth_openidc, in an Apache of the tests' own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import urllib.parse

import requests

from issuer import SECRET, Browser, IssuerTestCase, free_port

MODULES = pathlib.Path("/usr/lib/apache2/modules")
PROGRAM = shutil.which("apache2", path="/usr/sbin:/usr/bin")
NEEDED = ["mpm_event", "authn_core", "authz_core", "authz_user", "alias", "headers", "auth_openidc"]
CONFIGURATION = """
ServerName localhost
Listen 127.0.0.1:{port}
ServerRoot {folder}
DefaultRuntimeDir {folder}
PidFile {folder}/pid
ErrorLog {folder}/error.log
LogLevel warn
Mutex default:{folder}
DocumentRoot {folder}/site
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
MinSpareThreads 1
MaxSpareThreads 16

OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID apache
OIDCClientSecret {secret}
OIDCRedirectURI http://localhost:{port}/callback
OIDCCryptoPassphrase passphrase
OIDCScope "openid email groups offline_access"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
OIDCPassUserInfoAs claims json
OIDCInfoHook id_token userinfo access_token refresh_token

<Location />
    Require all granted
</Location>
<LocationMatch "^/(private|admins|callback)">
    AuthType openid-connect
    Require valid-user
    Header always set X-User "expr=%{{REMOTE_USER}}"
    Header always set X-Email "expr=%{{HTTP:OIDC_CLAIM_email}}"
    Header always set X-UserInfo "expr=%{{HTTP:OIDC_userinfo_json}}"
</LocationMatch>
<Location /admins>
    Require claim groups:admins
</Location>
"""
# Apache needs no privileges. If root runs the tests, Apache runs as nobody.
NOBODY = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


@unittest.skipUnless(PROGRAM and (MODULES / "mod_auth_openidc.so").exists(), "mod_auth_openidc isn't here")
class ModAuthOpenIDC(IssuerTestCase):
    # The module takes a refusal with `iss` for a sign-in that another site has begun.
    more = {"issInAnswers": False}

    @classmethod
    def clients(cls):
        return [{
            "clientID": "apache", "clientSecret": SECRET, "redirectURIs": [f"{cls.site}/callback"],
            "postLogoutRedirectURIs": [f"{cls.site}/bye.html"], "pkce": "required",
            "backchannelLogoutURI": f"{cls.site}/callback?logout=backchannel"}]

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.site = f"http://localhost:{cls.port}"
        super().setUpClass()
        # This folder belongs to Apache. The folders above it must be open to nobody.
        folder = cls.folder / "apache"
        for page in ["bye", "private/page", "admins/page"]:
            file = folder / "site" / f"{page}.html"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page)
        configuration = folder / "apache.conf"
        modules = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in NEEDED)
        configuration.write_text(
            modules + CONFIGURATION.format(port=cls.port, folder=folder, issuer=cls.issuer, secret=SECRET))
        if NOBODY:
            cls.folder.chmod(0o711)
            shutil.chown(folder, NOBODY["user"], NOBODY["group"])
        cls.log = folder / "error.log"
        apache = subprocess.Popen(
            [PROGRAM, "-f", str(configuration), "-DFOREGROUND"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True, **NOBODY)
        cls.addClassCleanup(apache.stderr.close)
        cls.addClassCleanup(cls.stop, apache)
        for _ in range(6000):
            try:
                requests.get(f"{cls.site}/bye.html")
                return
            except requests.ConnectionError:
                if apache.poll() is not None:
                    raise AssertionError(apache.stderr.read())
                time.sleep(0.05)
        raise AssertionError("Apache doesn't answer")

    @staticmethod
    def stop(apache):
        apache.send_signal(signal.SIGTERM)
        try:
            apache.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(apache.pid, signal.SIGKILL)
            apache.wait()

    def setUp(self):
        super().setUp()
        self.logged = self.log.stat().st_size

    def complaints(self):
        """Returns what the module has logged in this test."""
        with self.log.open(encoding="utf-8") as file:
            file.seek(self.logged)
            return file.read()

    def sign_in(self, browser, path="/private/page.html"):
        return browser.get(f"{self.site}{path}")

    def info(self, browser):
        return browser.get(f"{self.site}/callback?info=json")

    def test_sign_in_and_session(self):
        browser = Browser()
        answer = self.sign_in(browser)
        self.assertEqual((answer.url, answer.text), (f"{self.site}/private/page.html", "private/page"), self.complaints())
        self.assertEqual(answer.headers["X-User"], "ada@example.com")
        self.assertEqual(answer.headers["X-Email"], "ada@example.com")
        userinfo = json.loads(answer.headers["X-UserInfo"])
        claims = self.info(browser).json()["id_token"]
        self.assertEqual((claims["iss"], claims["aud"]), (self.issuer, "apache"))
        self.assertEqual((userinfo["sub"], userinfo["groups"]), (claims["sub"], ["engineers", "admins"]))
        # The session goes on while the issuer can't be reached.
        asked = len(self.recorded())
        self.assertEqual(self.sign_in(browser).headers["X-User"], "ada@example.com")
        self.assertEqual(len(self.recorded()), asked)

    def test_claim_is_required(self):
        self.assertEqual(self.sign_in(Browser("ada"), "/admins/page.html").text, "admins/page")
        self.assertEqual(self.sign_in(Browser("grace"), "/admins/page.html").status_code, 401)

    def test_refresh(self):
        browser = Browser()
        self.sign_in(browser)
        before = self.info(browser).json()
        fields = {"refresh": f"{self.site}/private/page.html", "access_token": before["access_token"]}
        self.assertEqual(browser.get(f"{self.site}/callback?{urllib.parse.urlencode(fields)}").text, "private/page")
        after = self.info(browser).json()
        for name in ("access_token", "refresh_token"):
            self.assertNotEqual(after[name], before[name])
        self.assertTrue(self.introspect(after["access_token"], "apache")["active"])

    def test_logout(self):
        browser = Browser()
        self.sign_in(browser)
        tokens = self.info(browser).json()
        fields = {"logout": f"{self.site}/bye.html"}
        self.assertEqual(browser.get(f"{self.site}/callback?{urllib.parse.urlencode(fields)}").text, "bye")
        # The module has revoked what it had, and the issuer has forgotten the browser.
        for name in ("access_token", "refresh_token"):
            self.assertFalse(self.introspect(tokens[name], "apache")["active"])
        browser.account = "grace"
        self.assertEqual(self.sign_in(browser).headers["X-User"], "grace@example.com")
        self.assertEqual(len(browser.pages), 2)

    def test_logout_by_the_back_channel(self):
        ada, grace = Browser("ada"), Browser("grace")
        for browser in (ada, grace):
            self.sign_in(browser)
        told = self.daemon.control("openid/logouts", issuer="corp", account="ada")
        self.assertEqual([n["client"] for n in told["notifications"]], ["apache"])
        self.assertEqual(told["notifications"][0]["status"], 200, self.complaints())
        self.assertEqual(len(ada.pages), 1)
        self.assertEqual(self.sign_in(ada).text, "private/page")
        self.assertEqual((len(ada.pages), len(grace.pages)), (2, 1))
        self.assertEqual(self.sign_in(grace).headers["X-User"], "grace@example.com")
        self.assertEqual(len(grace.pages), 1)

    def test_logout_token_that_is_broken(self):
        self.scenario("openid-logout-fails")
        browser = Browser()
        self.sign_in(browser)
        question = browser.get(f"{self.issuer}/logout")
        self.assertIn("Signed out", browser.submit(question, action="yes").text)
        self.assertEqual([told["status"] for told in self.recorded(host="localhost")], [400])
        self.assertIn("could not find key", self.complaints())
        # The person has signed out at the issuer, but not at this site.
        self.assertEqual(self.sign_in(browser).headers["X-User"], "ada@example.com")
        self.assertEqual(len(browser.pages), 1)

    def test_refusals(self):
        for broken, complaint in [
            ({"claims": {"nonce": "another"}}, "nonce value (another)"),
            ({"claims": {"iss": "https://login.other.example"}}, "requested issuer"),
            ({"claims": {"aud": "another"}}, "the configured client_id (apache) did not match"),
            ({"claims": {"exp": "-1h"}}, "JWT expired"), ({"claims": {"at_hash": "AAAA"}}, '"at_hash"'),
            ({"signature": "invalid"}, "bad signature"), ({"signature": "unknownKey"}, "could not find key"),
        ]:
            with self.subTest(broken):
                self.logged = self.log.stat().st_size
                self.break_token(**broken)
                browser = Browser()
                self.assertIn("Error in handling response", self.sign_in(browser).text)
                self.assertIn(complaint, self.complaints())
                self.assertEqual(self.info(browser).status_code, 401)

    def test_state_of_another(self):
        self.fault(path="*/authorize", state="wrong")
        browser = Browser()
        self.assertEqual(self.sign_in(browser).status_code, 400)
        self.assertEqual(self.info(browser).status_code, 401)

    def test_cancel(self):
        self.daemon.control("outcomes", provider="openid", outcome="cancel")
        self.assertIn("access_denied", self.sign_in(Browser()).text)

    def test_rotated_key(self):
        self.scenario("openid-rotated-key")
        for account in ["ada", "grace"]:
            answer = self.sign_in(Browser(account))
            self.assertEqual(answer.headers["X-User"], f"{account}@example.com")
