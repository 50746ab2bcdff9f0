"""Sign-ins with each provider: the address to which the browser goes, and the requests when it comes back."""

import json
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

from tokens import Untrusted, apple_client_secret, code_verifier, decoded, verify

GRAPH_VERSION = "v19.0"


class Refused(Exception):
    """An error that says that a sign-in failed, with the provider's answer, and with the reason if it gives one."""

    def __init__(self, said, reason=None):
        super().__init__(said)
        self.said, self.reason = said, reason


class SignIn:
    """One sign-in, from the button to its end. `calls` has the app's requests to the provider."""

    provider = title = None

    def __init__(self, settings, mistake=None):
        self.settings, self.mistake = settings, mistake
        self.state, self.nonce = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.verifier, self.challenge = code_verifier()
        self.calls, self.tokens, self.claims, self.name = [], {}, {}, None

    def ask(self, url, fields=None, body=None, repeats=2, **headers):
        """Sends a request to the provider, and returns its JSON answer."""
        data = None
        if fields is not None:
            data = urllib.parse.urlencode(fields).encode()
        elif body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            url, data, {"Accept": "application/json", "User-Agent": "example-web-app", **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, diagnosis, text = answer.status, answer.headers.get("Understudy-Diagnosis"), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, diagnosis, text = error.code, error.headers.get("Understudy-Diagnosis"), error.read()
                pause = error.headers.get("Retry-After", "")
            # A busy provider says when the app should try again.
            if status == 503 and pause.isdigit() and int(pause) <= 5 and repeats:
                time.sleep(int(pause))
                return self.ask(url, fields, body, repeats - 1, **headers)
        except OSError as error:
            raise Refused(f"{urllib.parse.urlsplit(url).netloc} can't be reached: {error}") from error
        self.calls.append((request.get_method(), url, status))
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        # GitHub answers with status 200 if it refuses a code.
        if status >= 400 or not isinstance(answer, (dict, list)) or "error" in answer:
            raise Refused(f"{status} {text.decode(errors='replace')}", diagnosis)
        return answer

    def redeem(self, url, **fields):
        """Redeems the authorization code, with the mistake that was chosen on the app's page."""
        if self.mistake == "secret":
            fields["client_secret"] = "a-secret-of-yesterday"
        if self.mistake == "redirect":
            fields["redirect_uri"] = urllib.parse.urljoin(fields["redirect_uri"], "/elsewhere")
        if self.mistake == "verifier":
            fields["code_verifier"] = "x" * 43
        answer = self.ask(url, fields)
        if self.mistake == "twice":
            answer = self.ask(url, fields)
        return answer

    def returned(self, fields):
        """Checks by the state that this app began the sign-in, and returns the parameters that the browser brought
        back."""
        if fields.get("state") != self.state:
            raise Refused("the state isn't the one with which this sign-in began")
        if "code" not in fields:
            raise Refused(json.dumps({name: fields[name] for name in fields if name != "state"}))
        return fields["code"]

    def trust(self, token, keys_url, **expected):
        """Verifies an ID token of the provider, and returns its claims."""
        if self.mistake == "nonce":
            expected["nonce"] = "another"
        self.tokens["ID token"] = token
        try:
            return verify(token, self.ask(keys_url), **expected)
        except Untrusted as problem:
            raise Refused(f"this app refuses the ID token: {problem}") from problem


class Apple(SignIn):
    """https://developer.apple.com/documentation/signinwithapplerestapi"""

    provider, title = "apple", "Apple"

    def begin(self):
        settings = self.settings
        return settings.for_browser(f"{settings.apple_base_url}/auth/authorize?") + urllib.parse.urlencode({
            "client_id": settings.apple_client_id, "redirect_uri": settings.callback_url, "response_type": "code",
            "response_mode": "form_post", "scope": "name email", "state": self.state, "nonce": self.nonce})

    def finish(self, fields):
        settings, code = self.settings, self.returned(fields)
        answer = self.redeem(
            f"{settings.apple_base_url}/auth/token", grant_type="authorization_code", code=code,
            redirect_uri=settings.callback_url, client_id=settings.apple_client_id,
            client_secret=apple_client_secret(
                settings.apple_team_id, settings.apple_key_id, settings.apple_private_key_file, settings.apple_client_id))
        self.tokens |= {"access token": answer["access_token"], "refresh token": answer["refresh_token"]}
        self.claims = self.trust(
            answer["id_token"], f"{settings.apple_base_url}/auth/keys", iss="https://appleid.apple.com",
            aud=settings.apple_client_id, nonce=self.nonce)
        # Apple sends the name with the code, and only the first time.
        name = json.loads(fields.get("user", "{}")).get("name", {})
        self.name = " ".join(name.values()) or self.claims.get("email")


class GitHub(SignIn):
    """https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps"""

    provider, title = "github", "GitHub"

    def begin(self):
        settings = self.settings
        return settings.for_browser(f"{settings.github_base_url}/login/oauth/authorize?") + urllib.parse.urlencode({
            "client_id": settings.github_client_id, "redirect_uri": settings.callback_url,
            "scope": "read:user user:email", "state": self.state,
            "code_challenge": self.challenge, "code_challenge_method": "S256"})

    def finish(self, fields):
        settings = self.settings
        answer = self.redeem(
            f"{settings.github_base_url}/login/oauth/access_token", code=self.returned(fields),
            redirect_uri=settings.callback_url, client_id=settings.github_client_id,
            client_secret=settings.github_client_secret, code_verifier=self.verifier)
        self.tokens["access token"] = answer["access_token"]
        bearer = f"Bearer {answer['access_token']}"
        user = self.ask(f"{settings.github_api_url}/user", Authorization=bearer)
        emails = self.ask(f"{settings.github_api_url}/user/emails", Authorization=bearer)
        self.claims = {name: user[name] for name in ("id", "login", "name", "company", "location") if user.get(name)}
        self.claims["email"] = next((one["email"] for one in emails if one["primary"] and one["verified"]), None)
        self.name = user["name"] or user["login"]


class Google(SignIn):
    """https://developers.google.com/identity/openid-connect/openid-connect"""

    provider, title = "google", "Google"

    def discovered(self):
        return self.ask(f"{self.settings.google_base_url}/.well-known/openid-configuration")

    def begin(self):
        settings = self.settings
        return settings.for_browser(self.discovered()["authorization_endpoint"] + "?") + urllib.parse.urlencode({
            "client_id": settings.google_client_id, "redirect_uri": settings.callback_url, "response_type": "code",
            "scope": "openid email profile", "state": self.state, "nonce": self.nonce,
            "code_challenge": self.challenge, "code_challenge_method": "S256"})

    def finish(self, fields):
        settings, code = self.settings, self.returned(fields)
        endpoints = self.discovered()
        answer = self.redeem(
            endpoints["token_endpoint"], grant_type="authorization_code", code=code, redirect_uri=settings.callback_url,
            client_id=settings.google_client_id, client_secret=settings.google_client_secret, code_verifier=self.verifier)
        self.tokens["access token"] = answer["access_token"]
        self.claims = self.trust(
            answer["id_token"], endpoints["jwks_uri"], iss="https://accounts.google.com", aud=settings.google_client_id,
            nonce=self.nonce)
        self.name = self.claims.get("name")


class Facebook(SignIn):
    """https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow"""

    provider, title = "facebook", "Facebook"

    def begin(self):
        settings = self.settings
        page = f"{settings.facebook_base_url}/{GRAPH_VERSION}/dialog/oauth?"
        return settings.for_browser(page) + urllib.parse.urlencode({
            "client_id": settings.facebook_app_id, "redirect_uri": settings.callback_url, "scope": "public_profile,email",
            "state": self.state, "response_type": "code"})

    def finish(self, fields):
        settings = self.settings
        graph = f"{settings.facebook_graph_url}/{GRAPH_VERSION}"
        answer = self.redeem(
            f"{graph}/oauth/access_token", code=self.returned(fields), redirect_uri=settings.callback_url,
            client_id=settings.facebook_app_id, client_secret=settings.facebook_app_secret)
        self.tokens["access token"] = answer["access_token"]
        query = urllib.parse.urlencode({"fields": "id,name,email", "access_token": answer["access_token"]})
        self.claims = self.ask(f"{graph}/me?{query}")
        self.name = self.claims["name"]


class Firebase(SignIn):
    """Firebase Authentication with Google. It sends the same REST calls as the web SDK with a pop-up.

    https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts
    """

    provider, title = "firebase", "Firebase (Google)"

    def call(self, operation, **body):
        emulator = self.settings.firebase_auth_emulator_host
        host = "identitytoolkit.googleapis.com"
        base = f"http://{emulator}/{host}" if emulator else f"https://{host}"
        return self.ask(f"{base}/v1/accounts:{operation}?key={self.settings.firebase_api_key}", body=body)

    def begin(self):
        answer = self.call("createAuthUri", providerId="google.com", continueUri=self.settings.callback_url)
        self.session = answer["sessionId"]
        # Firebase chooses the state.
        self.state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer["authUri"]).query))["state"]
        return self.settings.for_browser(answer["authUri"])

    def finish(self, fields):
        self.returned(fields)
        session = "another" if self.mistake == "verifier" else self.session
        sign_in = {
            "requestUri": f"{self.settings.callback_url}?{urllib.parse.urlencode(fields)}", "sessionId": session,
            "returnSecureToken": True}
        answer = self.call("signInWithIdp", **sign_in)
        if self.mistake == "twice":
            answer = self.call("signInWithIdp", **sign_in)
        if "idToken" not in answer:
            raise Refused(json.dumps({name: answer[name] for name in ("needConfirmation", "email") if name in answer}))
        self.tokens |= {"ID token": answer["idToken"], "refresh token": answer["refreshToken"]}
        self.claims = self.user(answer["idToken"])
        self.name = answer.get("displayName") or answer.get("email")

    def user(self, token):
        project = self.settings.firebase_project_id
        expected = {"iss": f"https://securetoken.google.com/{project}", "aud": project}
        if self.settings.firebase_auth_emulator_host:
            # An emulator's tokens aren't signed, and Firebase's own server libraries don't verify them.
            header, claims = decoded(token)
            if header["alg"] != "none" or any(claims.get(name) != value for name, value in expected.items()):
                raise Refused("this app refuses the ID token: it isn't this project's emulator's")
            return claims
        keys = "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
        return self.trust(token, keys, **expected)


PROVIDERS = {one.provider: one for one in (Apple, GitHub, Google, Facebook, Firebase)}
MISTAKES = {
    "": "no mistake",
    "twice": "redeem the code twice",
    "secret": "send a wrong client secret",
    "redirect": "send another redirect URI",
    "verifier": "send a wrong PKCE verifier",
    "nonce": "expect another nonce",
}
