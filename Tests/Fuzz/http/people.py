"""Clients of every provider that sign people in as they should, so that there is something to misuse."""
import base64
import json
import re
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from calls import Call, control
from daemon import NOW

RETURN = "https://example.com/callback"
LOCAL = "http://localhost:3000/callback"
GOOGLE = {"client_id": "example.apps.googleusercontent.com", "client_secret": "google-secret-for-tests"}
FACEBOOK = {"client_id": "1234567890", "client_secret": "facebook-secret-for-tests"}
GITHUB = {"client_id": "Ov23liAutoAnswers001", "client_secret": "github-secret-for-tests"}
TOOLKIT = "identitytoolkit.googleapis.com"


def part(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=")


class Signer:
    """Signs the client secrets of Apple's clients."""

    def __init__(self, root):
        with open(f"{root}/seed-data/keys/AuthKey_ABC123DEFG.p8", "rb") as file:
            self.key = load_pem_private_key(file.read(), None)

    def sign(self, claims, header=None):
        header = header or {"alg": "ES256", "kid": "ABC123DEFG"}
        text = part(json.dumps(header).encode()) + b"." + part(json.dumps(claims).encode())
        r, s = decode_dss_signature(self.key.sign(text, ECDSA(hashes.SHA256())))
        return (text + b"." + part(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()

    def secret(self, client, **claims):
        return self.sign({
            "iss": "A1B2C3D4E5", "iat": NOW, "exp": NOW + 3600, "aud": "https://appleid.apple.com", "sub": client, **claims})


def unsigned(claims, header=None):
    return (part(json.dumps(header or {"alg": "none", "typ": "JWT"}).encode()) + b"." + part(json.dumps(claims).encode())
            + b".").decode()


class People:
    """Signs in. `send` takes a call and returns its answer; whatever an answer holds is put into `pool` by its name."""

    def __init__(self, send, pool, signer, world, secrets):
        self.send, self.pool, self.signer, self.world, self.secrets = send, pool, signer, world, secrets

    def keep(self, name, value):
        if isinstance(value, str) and 0 < len(value) < 8192:
            kept = self.pool.setdefault(name, [])
            kept.append(value)
            del kept[:-6]

    def learn(self, answer):
        location = answer.header(b"location")
        if location:
            try:
                address = urlsplit(location)
            except ValueError:
                return
            for fields in (parse_qs(address.query), parse_qs(address.fragment)):
                for name, values in fields.items():
                    self.keep(name, values[0])
        cookie = answer.header(b"set-cookie")
        if cookie:
            self.keep("cookie", cookie.split(";")[0])
        if answer.body[:1] in (b"{", b"["):
            try:
                self.learn_json(json.loads(answer.body), 0)
            except (ValueError, RecursionError):
                pass
        elif b"<input" in answer.body[:60000]:
            page = answer.body.decode("utf-8", "replace")
            for name, value in re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', page)[:20]:
                self.keep(name, value)

    def learn_json(self, value, depth):
        if depth > 5:
            return
        if isinstance(value, dict):
            for name, member in list(value.items())[:60]:
                self.keep(name, member)
                self.learn_json(member, depth + 1)
        elif isinstance(value, list):
            for item in value[-4:]:
                self.learn_json(item, depth + 1)

    def do(self, call):
        call.world = self.world
        answer = self.send(call)
        if answer is not None:
            self.learn(answer)
        return answer

    def last(self, name):
        kept = self.pool.get(name)
        return kept[-1] if kept else ""

    def form(self, host, path, fields, **headers):
        return self.do(Call("POST", host, path, "form", fields, headers))

    def json(self, host, path, fields, **headers):
        return self.do(Call("POST", host, path, "json", fields, headers))

    def get(self, host, path, fields=None, **headers):
        return self.do(Call("GET", host, path, "query", fields, headers))

    def control(self, method, path, body=None):
        return self.do(control(method, path, body))

    def secret(self, client):
        if client not in self.secrets:
            self.secrets[client] = self.signer.secret(client)
        return self.secrets[client]

    def redeem(self, host, path, fields, times=2, **headers):
        for _ in range(times):
            self.form(host, path, fields, **headers)

    # Apple

    def apple(self, account="ada"):
        self.control("POST", "outcomes", {"provider": "apple", "outcome": "approve", "account": account})
        client = "com.example.web"
        self.get("appleid.apple.com", "/auth/authorize", {
            "client_id": client, "redirect_uri": RETURN, "response_type": "code", "state": "s", "nonce": "n"})
        self.redeem("appleid.apple.com", "/auth/token", {
            "client_id": client, "client_secret": self.secret(client), "code": self.last("code"),
            "grant_type": "authorization_code", "redirect_uri": RETURN})
        self.form("appleid.apple.com", "/auth/token", {
            "client_id": client, "client_secret": self.secret(client), "grant_type": "refresh_token",
            "refresh_token": self.last("refresh_token")})
        self.form("appleid.apple.com", "/auth/revoke", {
            "client_id": client, "client_secret": self.secret(client), "token": self.last("refresh_token")})

    def apple_native(self, account="grace"):
        app = "com.example.app"
        self.control("POST", "apple/authorizations", {
            "client": app, "scopes": ["fullName", "email"], "nonce": "raw", "account": account})
        self.redeem("appleid.apple.com", "/auth/token", {
            "client_id": app, "client_secret": self.secret(app), "code": self.last("authorizationCode"),
            "grant_type": "authorization_code"})
        self.get("", "/_understudy/v1/apple/credential-state", {"client": app, "user": self.last("user")})
        self.control("POST", "apple/notifications", {"type": "email-disabled", "account": account, "client": app})

    def apple_page(self):
        self.get("appleid.apple.com", "/auth/authorize", {
            "client_id": "com.example.web", "redirect_uri": RETURN, "response_type": "code id_token", "state": "s",
            "response_mode": "form_post", "scope": "name email"}, Accept="text/html")
        self.form("appleid.apple.com", "/auth/authorize/continue", {
            "request": self.last("request"), "account": "ada", "action": "continue", "given": "A", "family": "L"})

    # GitHub

    def github(self):
        self.get("github.com", "/login/oauth/authorize", {"client_id": GITHUB["client_id"], "scope": "user repo read:org", "state": "s"})
        self.redeem("github.com", "/login/oauth/access_token", {**GITHUB, "code": self.last("code")}, Accept="application/json")
        bearer = f"Bearer {self.last('access_token')}"
        for path in ("/user", "/user/emails", "/user/orgs", "/user/teams"):
            self.get("api.github.com", path, Authorization=bearer)
        self.json("api.github.com", "/graphql", {"query": "{ viewer { login email } }"}, Authorization=bearer)
        basic = "Basic " + base64.b64encode(f"{GITHUB['client_id']}:{GITHUB['client_secret']}".encode()).decode()
        self.json("api.github.com", f"/applications/{GITHUB['client_id']}/token", {
            "access_token": self.last("access_token")}, Authorization=basic)

    def github_device(self):
        self.form("github.com", "/login/device/code", {"client_id": GITHUB["client_id"], "scope": "user"}, Accept="application/json")
        self.control("POST", "outcomes", {"provider": "github", "outcome": "approve", "account": "ada"})
        self.github_session()
        self.form("github.com", "/login/device", {
            "user_code": self.last("user_code"), "authenticity_token": self.last("authenticity_token"), "action": "continue"},
            Cookie=self.last("cookie"))
        self.redeem("github.com", "/login/oauth/access_token", {
            "client_id": GITHUB["client_id"], "device_code": self.last("device_code"),
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code"}, Accept="application/json")

    def github_session(self):
        self.form("github.com", "/session", {"account": "ada", "return_to": "/settings/applications"})
        self.get("github.com", "/settings/applications", Cookie=self.last("cookie"), Accept="text/html")
        self.get("github.com", "/login/oauth/authorize", {
            "client_id": "Iv1.0123456789abcdef", "redirect_uri": LOCAL, "scope": "user"}, Cookie=self.last("cookie"), Accept="text/html")

    def github_app(self):
        self.control("POST", "outcomes", {"provider": "github", "outcome": "approve", "account": "ada"})
        app = {"client_id": "Iv23liGitHubApp00001", "client_secret": "github-secret-for-tests"}
        self.get("github.com", "/login/oauth/authorize", {"client_id": app["client_id"]})
        self.redeem("github.com", "/login/oauth/access_token", {**app, "code": self.last("code")}, Accept="application/json")
        self.redeem("github.com", "/login/oauth/access_token", {
            **app, "grant_type": "refresh_token", "refresh_token": self.last("refresh_token")}, Accept="application/json")

    # Google and Facebook

    def google(self):
        self.control("POST", "outcomes", {"provider": "google", "outcome": "approve", "account": "ada"})
        self.get("accounts.google.com", "/o/oauth2/v2/auth", {
            "client_id": GOOGLE["client_id"], "redirect_uri": LOCAL, "response_type": "code", "scope": "openid email profile",
            "state": "s", "access_type": "offline", "prompt": "consent"})
        self.redeem("oauth2.googleapis.com", "/token", {
            **GOOGLE, "code": self.last("code"), "grant_type": "authorization_code", "redirect_uri": LOCAL})
        self.form("oauth2.googleapis.com", "/token", {
            **GOOGLE, "grant_type": "refresh_token", "refresh_token": self.last("refresh_token")})
        self.get("oauth2.googleapis.com", "/tokeninfo", {"id_token": self.last("id_token")})
        self.get("openidconnect.googleapis.com", "/v1/userinfo", Authorization=f"Bearer {self.last('access_token')}")
        self.control("POST", "google/authorizations", {"client": GOOGLE["client_id"], "account": "grace", "nonce": "n"})

    def facebook(self):
        self.control("POST", "outcomes", {"provider": "facebook", "outcome": "approve", "account": "ada"})
        self.get("www.facebook.com", "/v22.0/dialog/oauth", {
            "client_id": FACEBOOK["client_id"], "redirect_uri": LOCAL, "response_type": "code", "scope": "email", "state": "s"})
        self.redeem("graph.facebook.com", "/v22.0/oauth/access_token", {
            **FACEBOOK, "code": self.last("code"), "redirect_uri": LOCAL})
        self.get("graph.facebook.com", "/v22.0/me", {"fields": "id,name,email", "access_token": self.last("access_token")})
        self.get("graph.facebook.com", "/debug_token", {
            "input_token": self.last("access_token"), "access_token": "1234567890|facebook-secret-for-tests"})
        self.control("POST", "facebook/authorizations", {
            "client": "1234567890", "account": "ada", "tracking": "limited", "nonce": "n"})

    # Firebase

    def firebase(self, name, fields):
        return self.json(TOOLKIT, f"/v1/accounts:{name}?key=demo-api-key", fields)

    def admin(self, path, fields):
        return self.json(TOOLKIT, f"/v1/projects/demo-app{path}", fields, Authorization="Bearer owner")

    def firebase_password(self):
        person = {"email": "ada@example.org", "password": "correct horse", "returnSecureToken": True}
        self.firebase("signUp", person)
        self.firebase("signInWithPassword", person)
        self.firebase("lookup", {"idToken": self.last("idToken")})
        self.firebase("update", {"idToken": self.last("idToken"), "displayName": "Ada", "returnSecureToken": True})
        for kind in ("VERIFY_EMAIL", "PASSWORD_RESET", "EMAIL_SIGNIN"):
            self.firebase("sendOobCode", {
                "requestType": kind, "idToken": self.last("idToken"), "email": person["email"], "continueUrl": LOCAL})
            self.get("", "/emulator/v1/projects/demo-app/oobCodes")
            code = self.last("oobCode")
            if kind == "VERIFY_EMAIL":
                self.firebase("update", {"oobCode": code})
            for _ in range(2):
                if kind == "PASSWORD_RESET":
                    self.firebase("resetPassword", {"oobCode": code, "newPassword": "another horse"})
                elif kind == "EMAIL_SIGNIN":
                    self.firebase("signInWithEmailLink", {"oobCode": code, "email": person["email"]})
        self.form("securetoken.googleapis.com", "/v1/token?key=demo-api-key", {
            "grant_type": "refresh_token", "refresh_token": self.last("refreshToken")})

    def firebase_phone(self):
        self.firebase("sendVerificationCode", {"phoneNumber": "+15555550111", "recaptchaToken": "x"})
        self.get("", "/emulator/v1/projects/demo-app/verificationCodes")
        for _ in range(2):
            self.firebase("signInWithPhoneNumber", {"sessionInfo": self.last("sessionInfo"), "code": self.last("code")})
        self.firebase("sendVerificationCode", {"phoneNumber": "+15555550100"})
        self.firebase("signInWithPhoneNumber", {"sessionInfo": self.last("sessionInfo"), "code": "123456"})

    def firebase_federated(self):
        self.apple_native("ada")
        for provider, token in (("apple.com", self.last("identityToken")), ("google.com", self.last("id_token")),
                                ("facebook.com", self.last("id_token"))):
            self.firebase("signInWithIdp", {
                "postBody": f"id_token={token}&providerId={provider}&nonce=raw", "requestUri": "http://localhost",
                "returnSecureToken": True, "returnIdpCredential": True})
        self.firebase("signInWithIdp", {
            "postBody": f"access_token={self.last('access_token')}&providerId=github.com", "requestUri": "http://localhost",
            "returnSecureToken": True})
        self.firebase("createAuthUri", {
            "providerId": "github.com", "continueUri": "https://demo-app.firebaseapp.com/__/auth/handler"})

    def firebase_admin(self):
        self.admin("/accounts", {"email": "grace@example.org", "password": "correct horse", "emailVerified": True})
        user = self.last("localId")
        self.admin("/accounts:update", {"localId": user, "customAttributes": '{"a":1}', "validSince": str(NOW - 10)})
        self.admin("/accounts:lookup", {"localId": [user]})
        self.admin("/accounts:batchCreate", {"users": [{"localId": "b1", "email": "b1@example.org"}]})
        self.admin(":createSessionCookie", {"idToken": self.last("idToken"), "validDuration": "3600"})
        self.get(TOOLKIT, "/v1/projects/demo-app/accounts:batchGet", {"maxResults": "5"}, Authorization="Bearer owner")
        claims = {"iss": "x@demo-app.iam.gserviceaccount.com", "sub": "x@demo-app.iam.gserviceaccount.com", "uid": "custom",
                  "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
                  "iat": NOW, "exp": NOW + 3600}
        self.firebase("signInWithCustomToken", {"token": unsigned(claims), "returnSecureToken": True})
        self.json(TOOLKIT, "/v2/accounts/mfaEnrollment:start?key=demo-api-key", {
            "idToken": self.last("idToken"), "totpEnrollmentInfo": {}})
        self.json(TOOLKIT, "/v2/accounts/mfaEnrollment:start?key=demo-api-key", {
            "idToken": self.last("idToken"), "phoneEnrollmentInfo": {"phoneNumber": "+15555550122"}})

    def token(self):
        for provider, client in (("apple", "com.example.app"), ("google", GOOGLE["client_id"]), ("firebase", "demo-app")):
            self.control("POST", "tokens", {"provider": provider, "client": client, "claims": {"exp": "1h"}})
            self.keep("id_token", self.last("token"))

    WAYS = ["apple", "apple_native", "apple_page", "github", "github_device", "github_session", "github_app", "google",
            "facebook", "firebase_password", "firebase_phone", "firebase_federated", "firebase_admin", "token"]
