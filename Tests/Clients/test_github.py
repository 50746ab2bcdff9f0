"""GitHub sign-in with clients that people use."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import unittest.mock
import urllib.parse

import github
import requests
import requests_oauthlib

from support import DaemonTestCase, Person, TLSTerminator

# requests-oauthlib wants https, except where told otherwise.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
CLIENT, SECRET = "Ov23liAutoAnswers001", "github-secret-for-tests"
CALLBACK = "https://example.com/callback"


class RequestsOAuthlib(DaemonTestCase):
    def session(self, scope, client=CLIENT, **more):
        return requests_oauthlib.OAuth2Session(client, redirect_uri=CALLBACK, scope=scope, **more)

    def callback(self, session, **more):
        address, _ = session.authorization_url(f"{self.daemon.github}/login/oauth/authorize", **more)
        return requests.get(address, allow_redirects=False).headers["Location"]

    def fetch(self, session, callback):
        return session.fetch_token(
            f"{self.daemon.github}/login/oauth/access_token", client_secret=SECRET, authorization_response=callback)

    def test_web_flow(self):
        """Checks the web flow. The library reads the answer as a form, and checks the state."""
        session = self.session(["user"])
        token = self.fetch(session, self.callback(session))
        self.assertRegex(token["access_token"], "^gho_")
        user = session.get(f"{self.daemon.url}/api.github.com/user").json()
        self.assertEqual(user["login"], "ada")
        emails = session.get(f"{self.daemon.url}/api.github.com/user/emails").json()
        self.assertEqual([e["email"] for e in emails if e["primary"] and e["verified"]], ["ada@example.com"])

    def test_pkce(self):
        session = self.session(["gist"], pkce="S256")
        self.assertRegex(self.fetch(session, self.callback(session))["access_token"], "^gho_")
        session = self.session(["gist"], pkce="S256")
        callback = self.callback(session)
        session._code_verifier = "x" * 43
        with self.assertRaisesRegex(Exception, "incorrect or expired"):
            self.fetch(session, callback)

    def test_denied(self):
        self.daemon.control("outcomes", provider="github", outcome="cancel")
        session = self.session(["gist"])
        with self.assertRaisesRegex(Exception, "denied your application access"):
            self.fetch(session, self.callback(session))

    def test_code_used_twice(self):
        session = self.session(["gist"])
        callback = self.callback(session)
        self.fetch(session, callback)
        with self.assertRaisesRegex(Exception, "bad_verification_code"):
            self.fetch(session, callback)

    def test_refresh(self):
        self.daemon.control("outcomes", provider="github", outcome="approve", account="grace")
        session = self.session(None, "Iv23liGitHubApp00001")
        first = self.fetch(session, self.callback(session))
        self.daemon.control("clock", advance="9h")
        user = f"{self.daemon.url}/api.github.com/user"
        self.assertEqual(requests.get(user, headers={"Authorization": "token " + first["access_token"]}).status_code, 401)
        second = session.refresh_token(
            f"{self.daemon.github}/login/oauth/access_token", client_id="Iv23liGitHubApp00001", client_secret=SECRET)
        self.assertNotEqual(first["refresh_token"], second["refresh_token"])
        self.assertEqual(session.get(user).json()["login"], "grace")


class PyGithub(DaemonTestCase):
    """PyGithub without any setting. It uses https://api.github.com through the proxy, with the run's certificate."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls = TLSTerminator(cls.daemon, ["github.com", "api.github.com"])
        cls.addClassCleanup(cls.tls.stop)
        environment = {"HTTPS_PROXY": cls.tls.proxy, "REQUESTS_CA_BUNDLE": cls.tls.certificate}
        patch = unittest.mock.patch.dict(os.environ, environment)
        patch.start()
        cls.addClassCleanup(patch.stop)

    def application(self, client=CLIENT):
        return github.Github().get_oauth_application(client, SECRET)

    def code(self, application, scope="read:user user:email read:org"):
        address = application.get_login_url(redirect_uri=CALLBACK) + "&" + urllib.parse.urlencode({"scope": scope})
        self.assertTrue(address.startswith("https://github.com/login/oauth/authorize?"))
        location = requests.get(address, allow_redirects=False).headers["Location"]
        return re.search("code=([0-9a-f]+)", location).group(1)

    def signed_in(self):
        application = self.application()
        token = application.get_access_token(self.code(application))
        return github.Github(auth=github.Auth.Token(token.token), per_page=1)

    def test_user(self):
        hub = self.signed_in()
        user = hub.get_user()
        self.assertEqual((user.login, user.id, user.name), ("ada", 1815, "Ada Lovelace"))
        self.assertEqual([e.email for e in user.get_emails()], ["ada@example.com", "1815+ada@users.noreply.github.com"])
        self.assertEqual(set(hub.oauth_scopes), {"read:org", "read:user", "user:email"})
        self.assertEqual(hub.rate_limiting[1], 5000)
        self.assertEqual(hub.get_user("grace").email, "grace@example.com")

    def test_enterprise_layout(self):
        """Checks the client with the settings for GitHub Enterprise, over plain HTTP and below a prefix."""
        token = self.application().get_access_token(self.code(self.application()))
        hub = github.Github(
            auth=github.Auth.Token(token.token), base_url=f"{self.daemon.github}/api/v3", per_page=1)
        self.assertEqual(hub.get_user().login, "ada")
        members = hub.get_organization("analytical-engines").get_members()
        self.assertEqual([m.login for m in members], ["ada", "grace"])

    def test_organizations(self):
        """Lists organizations, one on each page, so that the library follows the links."""
        hub = self.signed_in()
        self.assertEqual([o.login for o in hub.get_user().get_orgs()], ["analytical-engines"])
        organization = hub.get_organization("analytical-engines")
        self.assertEqual([m.login for m in organization.get_members()], ["ada", "grace"])
        self.assertTrue(organization.has_in_members(hub.get_user("grace")))
        self.assertFalse(organization.has_in_members(hub.get_user("linus")))
        team = organization.get_team_by_slug("programmers")
        self.assertEqual([m.login for m in team.get_members()], ["ada", "grace"])
        self.assertEqual([t.name for t in hub.get_user().get_teams()], ["Programmers"])

    def test_expiring_tokens(self):
        self.daemon.control("outcomes", provider="github", outcome="approve", account="grace")
        application = self.application("Iv23liGitHubApp00001")
        token = application.get_access_token(self.code(application))
        self.assertEqual(token.expires_in, 28800)
        refreshed = application.refresh_access_token(token.refresh_token)
        self.assertNotEqual(token.token, refreshed.token)
        with self.assertRaises(github.BadCredentialsException):
            github.Github(auth=github.Auth.Token(token.token)).get_user().login
        auth = application.get_app_user_auth(refreshed)
        self.assertEqual(github.Github(auth=auth).get_user().login, "grace")

    def test_errors(self):
        application = self.application()
        with self.assertRaisesRegex(github.GithubException, "bad_verification_code"):
            application.get_access_token("nonsense")
        with self.assertRaises(github.BadCredentialsException):
            github.Github(auth=github.Auth.Token("nonsense")).get_user().login
        token = application.get_access_token(self.code(application, "gist"))
        with self.assertRaises(github.UnknownObjectException):
            list(github.Github(auth=github.Auth.Token(token.token)).get_user().get_emails())


class OmniAuth(DaemonTestCase):
    def test_omniauth(self):
        """Checks omniauth-github with the settings for GitHub Enterprise."""
        if subprocess.run(["ruby", "-e", "require 'omniauth-github'"], capture_output=True).returncode:
            self.skipTest("omniauth-github isn't here")
        self.daemon.control("outcomes", provider="github", outcome="approve", account="grace")
        app = pathlib.Path(__file__).parent / "apps/omniauth_app.rb"
        result = subprocess.run(
            ["ruby", str(app)], capture_output=True, text=True,
            env=os.environ | {"GITHUB_AT": self.daemon.github, "GITHUB_SECRET": "github-secret-for-tests"})
        self.assertEqual(result.stdout, '{"nickname":"grace","email":"grace@example.com"}\n', result.stderr)


class GitHubCLI(DaemonTestCase):
    """`gh` speaks https only, to hosts without a port."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tls = TLSTerminator(cls.daemon, ["github.com", "api.github.com"])
        cls.addClassCleanup(cls.tls.stop)

    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.folder.name, "GH_CONFIG_DIR": self.folder.name,
            "GH_NO_UPDATE_NOTIFIER": "1", "BROWSER": "true",
        } | self.tls.environment()

    def gh(self, *arguments):
        return subprocess.run(
            ["gh", *arguments], env=self.environment, capture_output=True, text=True, timeout=300,
            stdin=subprocess.DEVNULL)

    def test_device_flow(self):
        login = subprocess.Popen(
            ["gh", "auth", "login", "--hostname", "github.com", "--web"], env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(login.stdout.close)
        told, code = "", None
        while not code:
            line = login.stdout.readline()
            self.assertTrue(line, told)
            told += line
            code = re.search("[0-9A-F]{4}-[0-9A-F]{4}", line)
        Person(self.daemon, "grace").enter(code.group())
        told += login.stdout.read()
        self.assertEqual(login.wait(60), 0, told)
        self.assertIn("Logged in as grace", told)

        user = self.gh("api", "user", "--jq", ".login,.plan.name")
        self.assertEqual(user.stdout.split(), ["grace"], user.stderr)
        status = self.gh("auth", "status")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("Logged in to github.com as grace", status.stdout + status.stderr)
        organizations = self.gh("api", "user/orgs", "--paginate", "--jq", ".[].login")
        self.assertEqual(organizations.stdout.split(), ["analytical-engines"], organizations.stderr)
        missing = self.gh("api", "user/emails")
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("Not Found", missing.stdout + missing.stderr)
        self.assertIn('needs the "user" scope', missing.stderr)

    def test_revoked(self):
        self.daemon.control(
            "outcomes", provider="github", outcome="approve", account="ada", client="178c6fc778ccc68e1d6a")
        login = self.gh("auth", "login", "--hostname", "github.com", "--web")
        self.assertEqual(login.returncode, 0, login.stderr)
        self.daemon.control("github/revocations", account="ada", client="178c6fc778ccc68e1d6a")
        answer = self.gh("api", "user")
        self.assertIn("Bad credentials", answer.stdout + answer.stderr)


if __name__ == "__main__":
    unittest.main()
