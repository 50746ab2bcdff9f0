"""Checks for `redeem` of things that work once: one client makes each kind, and fifty use it at once. Then things that
many clients change at once, and things that are removed while others add to them."""
import base64
import hashlib
import hmac
import json
import random
import re
import struct
import subprocess
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

CLIENTS = 50
CONTROL = "/_understudy/v1"
CALLBACK = "http://localhost:3000/callback"
GITHUB, GITHUB_APP, GITHUB_SECRET = "Iv1.0123456789abcdef", "Iv23liGitHubApp00001", "github-secret-for-tests"
CORP = {"client_id": "web", "client_secret": "openid-secret-for-tests"}
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
KEY = "key=demo-api-key"
V1, V2 = "/identitytoolkit.googleapis.com/v1/accounts", "/identitytoolkit.googleapis.com/v2/accounts"
# A number of the built-in seed whose code is always the same.
TEST_NUMBER, TEST_CODE = "+15555550100", "123456"
MAC_SECRET = "a secret of 32 bytes and more...."
OWNER = {"Authorization": "Bearer owner"}
# A project that doesn't make a tenant again when somebody names it.
PLAIN = "plain-app"
PROJECT = {"id": PLAIN, "apiKeys": ["plain-key"], "providers": {"password": {}, "anonymous": {}}}
# A project that accepts the Emulator Suite's fake credentials, and in which users change their addresses themselves.
FAKES = {"id": "fakes-app", "apiKeys": ["fakes-key"], "acceptFakeCredentials": True, "emailEnumerationProtection": False,
         "providers": {"password": {}, "anonymous": {}, "google.com": {}, "passkey": {}}}
SEED = {"firebase": {"projects": [PROJECT, FAKES]}, "openid": {"issuers": [{"id": "corp", "clients": [
    {"clientID": "mac", "clientSecret": MAC_SECRET, "tokenEndpointAuthMethod": "client_secret_jwt",
     "redirectURIs": [CALLBACK]}]}]}}


def form(**fields):
    return urllib.parse.urlencode(fields)


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def query(location):
    return {name: values[0] for name, values in urllib.parse.parse_qs(urllib.parse.urlsplit(location).query).items()}


class Context:
    """The client that makes things, and what it has made for a kind."""

    def __init__(self, connection, secret, folder):
        self.connection, self.secret, self.folder = connection, secret, folder
        self.number = 0

    def begin(self):
        """Resets the world for the next kind."""
        self.connection.ask("POST", f"{CONTROL}/reset")
        self.passkey = None

    def ask(self, method, target, body=""):
        return self.connection.ask(method, target, body)

    def post(self, target, body):
        """Posts a form or JSON, and returns the members of the JSON answer."""
        status, _, text = self.ask("POST", target, body if isinstance(body, str) else json.dumps(body))
        if status not in (200, 201):
            raise SystemExit(f"{target}: {status} {text}")
        return json.loads(text)

    def v1(self, name, /, **fields):
        return self.post(f"{V1}:{name}?{KEY}", fields)

    def v2(self, name, /, **fields):
        return self.post(f"{V2}/{name}?{KEY}", fields)

    def order(self, provider, times=1, **fields):
        self.post(f"{CONTROL}/outcomes", {"provider": provider, "outcome": "approve", "account": "ada", "times": times, **fields})

    def approved(self, provider, target):
        """Requests an authorization that is answered at once, and returns the parameters of its redirect."""
        self.order(provider)
        return query(self.ask("GET", target)[1]["location"])

    def next(self):
        self.number += 1
        return self.number

    # Firebase

    def user(self):
        """A user with a verified address; the answer to a sign-in."""
        email = f"person{self.next()}@example.org"
        status, _, text = self.connection.ask(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/demo-app/accounts",
            json.dumps({"email": email, "password": "correct horse", "emailVerified": True}), {"Authorization": "Bearer owner"})
        if status != 200:
            raise SystemExit(f"a user isn't made: {text}")
        return self.sign_in(email)

    def sign_in(self, email):
        return self.v1("signInWithPassword", email=email, password="correct horse", returnSecureToken=True)

    def mailed(self, **request):
        """The code in the last mail."""
        self.v1("sendOobCode", **request)
        return urllib.parse.parse_qs(urllib.parse.urlsplit(self.last_message()["links"][0]).query)["oobCode"][0]

    def texted(self):
        """The code in the last text message."""
        return self.last_message()["codes"][0]

    def last_message(self):
        """Returns the last message, without reading the thousands that were sent before."""
        return json.loads(self.ask("GET", f"{CONTROL}/mail?limit=1")[2])["messages"][0]

    def enrolment(self, user):
        """An authenticator app whose enrolment waits for its first code."""
        return self.v2("mfaEnrollment:start", idToken=user["idToken"], totpEnrollmentInfo={})["totpSessionInfo"]

    def enrol_app(self, user, steps):
        """Enrols an authenticator app with the code that comes so many steps from now. Returns its secret."""
        started = self.enrolment(user)
        self.v2("mfaEnrollment:finalize", **finalized(user, started, steps))
        return started["sharedSecretKey"]

    def enrol_phone(self, user, number):
        """The user with a second factor has signed in with the first one, and waits for a text message."""
        started = self.v2("mfaEnrollment:start", idToken=user["idToken"], phoneEnrollmentInfo={"phoneNumber": number})
        self.v2("mfaEnrollment:finalize", idToken=user["idToken"], phoneVerificationInfo={
            "sessionInfo": started["phoneSessionInfo"]["sessionInfo"],
            "code": TEST_CODE if number == TEST_NUMBER else self.texted()})
        pending = self.sign_in(user["email"])
        begun = self.v2("mfaSignIn:start", mfaPendingCredential=pending["mfaPendingCredential"],
                        mfaEnrollmentId=pending["mfaInfo"][0]["mfaEnrollmentId"], phoneSignInInfo={})
        code = TEST_CODE if number == TEST_NUMBER else self.texted()
        return "POST", f"{V2}/mfaSignIn:finalize?{KEY}", json.dumps({
            "mfaPendingCredential": pending["mfaPendingCredential"],
            "phoneVerificationInfo": {"sessionInfo": begun["phoneResponseInfo"]["sessionInfo"], "code": code}})

    def handled(self, kind, redirect):
        """The address of GitHub's page in a sign-in by the web handler."""
        return self.ask("GET", "/emulator/auth/handler?" + form(
            apiKey="demo-api-key", appName="[DEFAULT]", authType=kind, providerId="github.com", redirectUrl=redirect,
            eventId=""))[1]["location"]


def totp(secret, steps=0):
    """A code of an authenticator app so many steps from now: <https://www.rfc-editor.org/rfc/rfc6238>."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">q", int(time.time()) // 30 + steps), hashlib.sha1).digest()
    start = digest[19] & 15
    return f"{(struct.unpack('>I', digest[start:start + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def finalized(user, started, steps=0):
    return {"idToken": user["idToken"], "displayName": "App", "totpVerificationInfo": {
        "sessionInfo": started["sessionInfo"], "verificationCode": totp(started["sharedSecretKey"], steps)}}


# Codes and tokens of OAuth

def apple(context):
    native = context.post(f"{CONTROL}/apple/authorizations", {"client": "com.example.app", "account": "ada"})
    return "POST", "/appleid.apple.com/auth/token", form(
        client_id="com.example.app", client_secret=context.secret, grant_type="authorization_code",
        code=native["authorizationCode"])


def github(context):
    answer = context.approved(
        "github", f"/github.com/login/oauth/authorize?{form(client_id=GITHUB, redirect_uri=CALLBACK)}")
    return "POST", "/github.com/login/oauth/access_token", form(
        client_id=GITHUB, client_secret=GITHUB_SECRET, code=answer["code"])


def google(context):
    client = "example.apps.googleusercontent.com"
    asked = form(client_id=client, redirect_uri=CALLBACK, response_type="code", scope="openid email")
    answer = context.approved("google", f"/accounts.google.com/o/oauth2/v2/auth?{asked}")
    return "POST", "/oauth2.googleapis.com/token", form(
        client_id=client, client_secret="google-secret-for-tests", grant_type="authorization_code", code=answer["code"],
        redirect_uri=CALLBACK)


def facebook(context):
    asked = form(client_id="1234567890", redirect_uri=CALLBACK, state="s")
    answer = context.approved("facebook", f"/www.facebook.com/v19.0/dialog/oauth?{asked}")
    return "POST", "/graph.facebook.com/v19.0/oauth/access_token", form(
        client_id="1234567890", client_secret="facebook-secret-for-tests", code=answer["code"], redirect_uri=CALLBACK)


def openid(context):
    asked = form(client_id="web", redirect_uri=CALLBACK, response_type="code", scope="openid offline_access")
    answer = context.approved("openid", f"/oidc/corp/authorize?{asked}")
    return "POST", "/oidc/corp/token", form(
        **CORP, grant_type="authorization_code", code=answer["code"], redirect_uri=CALLBACK)


def openid_refresh(context):
    tokens = context.post(*openid(context)[1:])
    return "POST", "/oidc/corp/token", form(**CORP, grant_type="refresh_token", refresh_token=tokens["refresh_token"])


def openid_device(context):
    context.order("openid")
    device = context.post("/oidc/corp/device_authorization", form(**CORP, scope="openid"))
    return "POST", "/oidc/corp/token", form(**CORP, grant_type=DEVICE, device_code=device["device_code"])


def pushed_request(context):
    context.order("openid", times=CLIENTS)
    pushed = context.post("/oidc/corp/par", form(**CORP, redirect_uri=CALLBACK, response_type="code", scope="openid"))
    return "GET", f"/oidc/corp/authorize?{form(client_id='web', request_uri=pushed['request_uri'])}"


def client_assertion(context):
    audience = json.loads(context.ask("GET", "/oidc/corp/.well-known/openid-configuration")[2])["token_endpoint"]
    now = int(time.time())
    claims = {"iss": "mac", "sub": "mac", "aud": audience, "iat": now, "exp": now + 600, "jti": f"j{context.next()}"}
    signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims))
    mac = hmac.new(MAC_SECRET.encode(), signed.encode(), hashlib.sha256).digest()
    return "POST", "/oidc/corp/token", form(
        grant_type="client_credentials", client_assertion=f"{signed}.{encoded(mac)}",
        client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer")


def github_tokens(context):
    answer = context.approved("github", "/github.com/login/oauth/authorize?" + form(
        client_id=GITHUB_APP, redirect_uri="https://example.com/callback"))
    return context.post("/github.com/login/oauth/access_token", form(
        client_id=GITHUB_APP, client_secret=GITHUB_SECRET, code=answer["code"]))


def github_refresh(context):
    return "POST", "/github.com/login/oauth/access_token", form(
        client_id=GITHUB_APP, client_secret=GITHUB_SECRET, grant_type="refresh_token",
        refresh_token=github_tokens(context)["refresh_token"])


def github_reset(context):
    # An app may ask 5,000 times an hour.
    if context.next() % 90 == 0:
        context.begin()
    credentials = base64.b64encode(f"{GITHUB_APP}:{GITHUB_SECRET}".encode()).decode()
    return ("PATCH", f"/api.github.com/applications/{GITHUB_APP}/token",
            json.dumps({"access_token": github_tokens(context)["access_token"]}),
            {"Authorization": f"Basic {credentials}", "User-Agent": "redeem"})


def github_device(context):
    context.order("github")
    device = context.post("/github.com/login/device/code", form(client_id=GITHUB))
    return "POST", "/github.com/login/oauth/access_token", form(
        client_id=GITHUB, grant_type=DEVICE, device_code=device["device_code"])


def outcome(context):
    """Seven authorizations are answered, whoever asks."""
    context.ask("DELETE", f"{CONTROL}/outcomes")
    context.order("github", times=7)
    return "GET", f"/github.com/login/oauth/authorize?{form(client_id=GITHUB, redirect_uri=CALLBACK)}"


# Firebase

def address(context):
    return "POST", f"{V1}:signUp?{KEY}", json.dumps({"email": f"new{context.next()}@example.org", "password": "correct horse"})


def reset_code(context):
    code = context.mailed(requestType="PASSWORD_RESET", email=context.user()["email"])
    return "POST", f"{V1}:resetPassword?{KEY}", json.dumps({"oobCode": code, "newPassword": "another horse"})


def address_code(context):
    code = context.mailed(requestType="VERIFY_EMAIL", idToken=context.user()["idToken"])
    return "POST", f"{V1}:update?{KEY}", json.dumps({"oobCode": code})


def email_link(context):
    email = f"link{context.next()}@example.org"
    code = context.mailed(requestType="EMAIL_SIGNIN", email=email, continueUrl="http://localhost:3000/")
    return "POST", f"{V1}:signInWithEmailLink?{KEY}", json.dumps({"oobCode": code, "email": email})


def sms_code(context):
    session = context.v1("sendVerificationCode", phoneNumber=f"+1555556{context.next():04}")["sessionInfo"]
    return "POST", f"{V1}:signInWithPhoneNumber?{KEY}", json.dumps({"sessionInfo": session, "code": context.texted()})


def sms_factor(context):
    return context.enrol_phone(context.user(), "+15555557000")


def pending_credential(context):
    """With the code of a test number, which works again, too."""
    return context.enrol_phone(context.user(), TEST_NUMBER)


def app_code(context):
    user = context.user()
    secret = context.enrol_app(user, -4)
    pending = context.sign_in(user["email"])
    return "POST", f"{V2}/mfaSignIn:finalize?{KEY}", json.dumps({
        "mfaPendingCredential": pending["mfaPendingCredential"],
        "mfaEnrollmentId": pending["mfaInfo"][0]["mfaEnrollmentId"],
        "totpVerificationInfo": {"verificationCode": totp(secret)}})


def app_enrolment(context):
    user = context.user()
    return "POST", f"{V2}/mfaEnrollment:finalize?{KEY}", json.dumps(finalized(user, context.enrolment(user)))


def factor_limit(context):
    """Each client has a phone number of its own, and the user may have five."""
    user = context.user()
    requests = []
    for number in range(CLIENTS):
        session = context.v2("mfaEnrollment:start", idToken=user["idToken"], phoneEnrollmentInfo={
            "phoneNumber": f"+1555555{8000 + number}"})
        requests.append(("POST", f"{V2}/mfaEnrollment:finalize?{KEY}", json.dumps({
            "idToken": user["idToken"], "phoneVerificationInfo": {
                "sessionInfo": session["phoneSessionInfo"]["sessionInfo"], "code": context.texted()}})))
    return requests


def app_limit(context):
    """Each client has an authenticator app of its own, and the user may have one."""
    user = context.user()
    started = [context.enrolment(user) for _ in range(CLIENTS)]
    return [("POST", f"{V2}/mfaEnrollment:finalize?{KEY}", json.dumps(finalized(user, one))) for one in started]


def factor_number(context):
    """Each client has a text message of its own, all to one number."""
    user = context.user()
    sessions = [
        context.v2("mfaEnrollment:start", idToken=user["idToken"], phoneEnrollmentInfo={"phoneNumber": TEST_NUMBER})
        for _ in range(CLIENTS)]
    return [("POST", f"{V2}/mfaEnrollment:finalize?{KEY}", json.dumps({
        "idToken": user["idToken"], "phoneVerificationInfo": {
            "sessionInfo": session["phoneSessionInfo"]["sessionInfo"], "code": TEST_CODE}})) for session in sessions]


def pending_token(context):
    token = context.post(*github(context)[1:])["access_token"]
    answer = context.v1("signInWithIdp", requestUri="http://localhost", postBody=form(
        providerId="github.com", access_token=token), returnSecureToken=True)
    return "POST", f"{V1}:signInWithIdp?{KEY}", json.dumps({
        "requestUri": "http://localhost", "postBody": "providerId=github.com", "pendingToken": answer["pendingToken"],
        "returnSecureToken": True})


def web_sign_in(context):
    """The address at which a sign-in by createAuthUri ended, which verifyAssertion gets."""
    begun = context.v1("createAuthUri", providerId="github.com", continueUri=CALLBACK)
    context.order("github")
    target = begun["authUri"].split("localhost", 1)[1].split("/", 1)[1]
    ended = context.ask("GET", f"/{target}")[1]["location"]
    return "POST", f"{V1}:signInWithIdp?{KEY}", json.dumps({
        "requestUri": ended, "sessionId": begun["sessionId"], "returnSecureToken": True})


def failed_sign_in(context):
    state = query(context.handled("signInViaPopup", "http://localhost:3000/"))["state"]
    return "GET", f"/emulator/auth/handler?{form(state=state, error='access_denied')}"


def kept_event(context):
    """The event of a redirect that ended, which a frame gets."""
    context.order("github")
    target = context.handled("signInViaRedirect", "http://127.0.0.1:3000/")
    while True:
        _, headers, page = context.ask("GET", "/" + target.split("://", 1)[-1].split("/", 1)[1])
        if "location" not in headers:
            break
        target = headers["location"]
    name = re.search('data-kept-as="([0-9a-f]+)"', page)[1]
    return "GET", "/emulator/auth/iframe?" + form(apiKey="demo-api-key", appName="[DEFAULT]", understudy_answer=name)


class Passkey:
    """An authenticator that doesn't count, of a new user."""

    def __init__(self, context):
        self.key = str(Path(context.folder, "passkey.pem"))
        self.run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.key)
        point = self.run("ec", "-in", self.key, "-pubout", "-outform", "DER")[-64:]
        self.id = encoded(b"the only passkey of this file")
        user = context.user()
        options = context.v2("passkeyEnrollment:start", idToken=user["idToken"])["credentialCreationOptions"]
        key = cbor({1: 2, 3: -7, -1: 1, -2: point[:32], -3: point[32:]})
        identity = base64.urlsafe_b64decode(self.id + "=" * (-len(self.id) % 4))
        data = self.data(0x45) + bytes(16) + struct.pack(">H", len(identity)) + identity + key
        made = cbor({"fmt": "none", "attStmt": {}, "authData": data})
        context.v2("passkeyEnrollment:finalize", idToken=user["idToken"], name="Key", authenticatorRegistrationResponse={
            "id": self.id, "response": {
                "clientDataJSON": encoded(self.client("webauthn.create", options["challenge"])),
                "attestationObject": encoded(made)}})

    def run(self, *arguments, **options):
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True, **options).stdout

    def client(self, kind, challenge):
        return json.dumps({"type": kind, "challenge": encoded(base64.b64decode(challenge)),
                           "origin": "http://localhost:3000", "crossOrigin": False}).encode()

    def data(self, flags):
        return hashlib.sha256(b"localhost").digest() + bytes([flags]) + bytes(4)

    def signed(self, challenge):
        client, data = self.client("webauthn.get", challenge), self.data(5)
        signature = self.run("dgst", "-sha256", "-sign", self.key, input=data + hashlib.sha256(client).digest())
        return {"id": self.id, "response": {
            "clientDataJSON": encoded(client), "authenticatorData": encoded(data), "signature": encoded(signature)}}


def cbor(value):
    """<https://www.rfc-editor.org/rfc/rfc8949>, as far as a passkey needs it."""
    def head(kind, number):
        if number < 24:
            return bytes([kind << 5 | number])
        return bytes([kind << 5 | 24, number]) if number < 256 else bytes([kind << 5 | 25]) + struct.pack(">H", number)
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    return head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())


def passkey_challenge(context):
    context.passkey = context.passkey or Passkey(context)
    challenge = context.v2("passkeySignIn:start")["credentialRequestOptions"]["challenge"]
    return "POST", f"{V2}/passkeySignIn:finalize?{KEY}", json.dumps(
        {"authenticatorAuthenticationResponse": context.passkey.signed(challenge)})


# Things that many clients change at once: every change must be left

TEMPLATES = ["resetPasswordTemplate", "verifyEmailTemplate", "changeEmailTemplate", "revertSecondFactorAdditionTemplate"]
EVENTS = ["beforeCreate", "beforeSignIn"]


def settings(context):
    """Each client sets one field of the project's configuration."""
    value = f"v{context.next()}"
    fields = [(f"notification.sendEmail.{template}.{field}", value)
              for template in TEMPLATES for field in ("subject", "body", "senderLocalPart", "senderDisplayName", "replyTo")]
    fields += [("notification.defaultLocale", value)]
    fields += [(f"blockingFunctions.triggers.{event}", {"functionUri": f"http://localhost/{value}"}) for event in EVENTS]
    fields += [("mfa.state", "ENABLED"), ("mfa.enabledProviders", ["PHONE_SMS"])]
    context.value = value
    config(context, "PATCH", "mfa,blockingFunctions", {})
    return [("PATCH", CONFIG.format(path), json.dumps(nested(path.split("."), value)), OWNER) for path, value in fields]


CONFIG = "/identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask={}"


def config(context, method, mask="", body=None):
    status, _, text = context.connection.ask(method, CONFIG.format(mask), json.dumps(body) if body is not None else "", OWNER)
    if status != 200:
        raise SystemExit(f"{method} config: {status} {text}")
    return json.loads(text)


def nested(names, value):
    return {names[0]: nested(names[1:], value) if names[1:] else value}


def settings_left(context, requests, answers):
    project = config(context, "GET")
    mail = project["notification"]["sendEmail"]
    made = [mail[template].get(field) == context.value for template in TEMPLATES
            for field in ("subject", "body", "senderLocalPart", "senderDisplayName", "replyTo")]
    made += [project["notification"].get("defaultLocale") == context.value]
    triggers = project["blockingFunctions"].get("triggers", {})
    made += [triggers.get(event, {}).get("functionUri") == f"http://localhost/{context.value}" for event in EVENTS]
    made += [project["mfa"]["state"] == "ENABLED", project["mfa"].get("enabledProviders") == ["PHONE_SMS"]]
    return sum(made)


# Things that are removed while others add to them: nothing may be left

def removed_person(context):
    """A person is removed while sign-ins by the person are under way."""
    context.person = context.ask("GET", f"{CONTROL}/accounts/ada")[2]
    context.ask("DELETE", f"{CONTROL}/outcomes")
    asked = {
        "github": f"/github.com/login/oauth/authorize?{form(client_id=GITHUB, redirect_uri=CALLBACK)}",
        "google": "/accounts.google.com/o/oauth2/v2/auth?" + form(
            client_id="example.apps.googleusercontent.com", redirect_uri=CALLBACK, response_type="code", scope="openid"),
        "facebook": f"/www.facebook.com/v19.0/dialog/oauth?{form(client_id='1234567890', redirect_uri=CALLBACK)}",
        "openid": f"/oidc/corp/authorize?{form(client_id='web', redirect_uri=CALLBACK, response_type='code', scope='openid')}"}
    for provider in asked:
        context.order(provider, times=12)
    requests = [("GET", target) for target in asked.values() for _ in range(9)] + [("DELETE", f"{CONTROL}/accounts/ada")]
    requests += [("POST", f"{CONTROL}/apple/authorizations", json.dumps({"client": "com.example.app", "account": "ada"}))] * 9
    random.shuffle(requests)
    return requests


def person_left(context, requests, answers):
    """Returns the number of codes that work when the person comes back."""
    status, _, text = context.ask("POST", f"{CONTROL}/accounts", context.person)
    if status != 201:
        raise SystemExit(f"the person isn't added again: {status} {text}")
    worked = 0
    for (_, target, *_), (status, headers, text) in zip(requests, answers):
        native = target.endswith("/apple/authorizations")
        code = json.loads(text).get("authorizationCode") if native else query(headers.get("location", "")).get("code")
        if not code:
            continue
        sent = {"code": code, "redirect_uri": CALLBACK, "grant_type": "authorization_code"}
        if target.startswith("/github.com"):
            path, client = "/github.com/login/oauth/access_token", {"client_id": GITHUB, "client_secret": GITHUB_SECRET}
        elif target.startswith("/accounts.google.com"):
            path, client = "/oauth2.googleapis.com/token", {
                "client_id": "example.apps.googleusercontent.com", "client_secret": "google-secret-for-tests"}
        elif target.startswith("/www.facebook.com"):
            path, client = "/graph.facebook.com/v19.0/oauth/access_token", {
                "client_id": "1234567890", "client_secret": "facebook-secret-for-tests"}
        elif native:
            del sent["redirect_uri"]
            path, client = "/appleid.apple.com/auth/token", {
                "client_id": "com.example.app", "client_secret": context.secret}
        else:
            path, client = "/oidc/corp/token", CORP
        worked += answered(*context.ask("POST", path, form(**sent, **client)))
    return worked


def removed_tenant(context):
    """A tenant is deleted while users are made in it."""
    status, _, text = context.connection.ask(
        "POST", f"/identitytoolkit.googleapis.com/v2/projects/{PLAIN}/tenants",
        json.dumps({"displayName": "corp", "allowPasswordSignup": True, "enableAnonymousUser": True}), OWNER)
    if status != 200:
        raise SystemExit(f"a tenant isn't made: {status} {text}")
    context.tenant = json.loads(text)["name"].rsplit("/", 1)[1]
    users = f"/identitytoolkit.googleapis.com/v1/projects/{PLAIN}/tenants/{context.tenant}"
    requests = [("POST", f"{V1}:signUp?key=plain-key", json.dumps({
        "tenantId": context.tenant, "email": f"person{number}@example.org", "password": "correct horse"})) for number in range(24)]
    requests += [("POST", f"{V1}:signUp?key=plain-key", json.dumps({"tenantId": context.tenant}))] * 15
    requests += [("POST", f"{users}/accounts:batchCreate", json.dumps({
        "users": [{"localId": f"user{batch}-{number}"} for number in range(100)]}), OWNER) for batch in range(6)]
    requests += [("POST", f"{users}/accounts:sendOobCode", json.dumps({
        "requestType": "PASSWORD_RESET", "email": f"person{number}@example.org"}), OWNER) for number in range(4)]
    random.shuffle(requests)
    requests.insert(len(requests) // 2, (
        "DELETE", f"/identitytoolkit.googleapis.com/v2/projects/{PLAIN}/tenants/{context.tenant}", "", OWNER))
    return requests


def tenant_left(context, requests, answers):
    """Returns the number of Firebase's rows of the tenant. Mails to its users stay, and rows for reasons of
    refusals."""
    status, _, text = context.ask("GET", f"{CONTROL}/snapshot")
    if status != 200:
        raise SystemExit(f"snapshot: {status} {text}")
    memory = ("firebase.deletedTenant", "firebase.endedSession")
    tables = {name: rows for name, rows in json.loads(text)["tables"].items()
              if name.startswith("firebase.") and name not in memory}
    return sum(context.tenant in json.dumps(row) for rows in tables.values() for row in rows)


# The success of each kind

def answered(status, _, text):
    return status == 200 and '"error"' not in text


def redirected(_, headers, __):
    return "code=" in headers.get("location", "")


@dataclass
class Kind:
    prepare: Callable
    succeeds: Callable = answered
    expected: int = 1
    # For these kinds, the number that is left after the race counts, and not the answers.
    left: Callable | None = None

    @property
    def name(self):
        return self.prepare.__name__


KINDS = [
    Kind(apple), Kind(github), Kind(google), Kind(facebook), Kind(openid), Kind(openid_refresh), Kind(openid_device),
    Kind(pushed_request, redirected), Kind(client_assertion), Kind(github_refresh), Kind(github_reset), Kind(github_device),
    Kind(outcome, redirected, 7), Kind(address), Kind(reset_code), Kind(address_code), Kind(email_link), Kind(sms_code),
    Kind(sms_factor), Kind(app_code), Kind(app_enrolment), Kind(factor_limit, expected=5), Kind(app_limit), Kind(factor_number),
    Kind(passkey_challenge), Kind(web_sign_in),
    Kind(failed_sign_in, lambda status, _, text: status == 200 and "No such sign-in" not in text),
    Kind(kept_event, lambda status, _, text: status == 200 and 'data-kept=""' not in text),
    Kind(settings, left=settings_left, expected=25), Kind(removed_person, left=person_left, expected=0),
    Kind(removed_tenant, left=tenant_left, expected=0),
    # These work again until they expire, as in production.
    Kind(pending_credential, expected=CLIENTS), Kind(pending_token, expected=CLIENTS),
]
