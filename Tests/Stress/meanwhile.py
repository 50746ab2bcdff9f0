"""Checks for `redeem`: things that end while clients use them, limits, and things that must be the same for all
clients."""
import hashlib
import json
import random
import re
import struct

from single_use import (
    CALLBACK, CLIENTS, CONTROL, CORP, DEVICE, GITHUB, KEY, OWNER, TEST_NUMBER, V1, V2, Kind, Passkey, apple, facebook, form, github,
    google, query)
from uniqueness import GOOGLE, PROJECT, status, user_of

TOKENS = f"/securetoken.googleapis.com/v1/token?{KEY}"
# Of the built-in seed's Google there is no client of this type.
DEVICE_CLIENT = "device.apps.googleusercontent.com"
SEED = {"google": {"clients": [{"clientID": DEVICE_CLIENT, "type": "device", "clientSecret": "device-secret-for-tests"}]}}
REAL = {"Host": "identitytoolkit.googleapis.com"}


def hidden(page):
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page))


def rows(context):
    code, _, text = context.ask("GET", f"{CONTROL}/snapshot")
    if code != 200:
        raise SystemExit(f"snapshot: {code} {text}")
    return json.loads(text)["tables"]


def works(context, reply, method, target, body="", headers=None):
    return context.connection.ask(method, target, body, headers)[0] == 200 if reply[0] == 200 and '"error"' not in reply[2] else False


def signed_in(context):
    """Signs in at GitHub, and returns the browser and the fields of its forms."""
    headers = context.connection.ask("POST", "/github.com/session", form(account="ada", return_to="/login/device"))[1]
    browser = {"Cookie": headers["set-cookie"].split(";")[0]}
    return browser, hidden(context.connection.ask("GET", "/github.com/login/device", "", browser)[2])["authenticity_token"]


# Values that an administrator gives to one of many users

def users(context):
    return [context.v1("signUp", returnSecureToken=True)["localId"] for _ in range(CLIENTS)]


def given(context, change):
    return [("POST", f"{PROJECT}:update", json.dumps({"localId": user, **change}), OWNER) for user in users(context)]


def given_number(context):
    return given(context, {"phoneNumber": f"+1555550{context.next():04}"})


def given_address(context):
    return given(context, {"email": f"given{context.next()}@example.org"})


def given_identity(context):
    return given(context, {"linkProviderUserInfo": {"providerId": "google.com", "rawId": f"given{context.next()}"}})


def made_with_number(context):
    return "POST", PROJECT, json.dumps({"phoneNumber": f"+1555551{context.next():04}"}), OWNER


def imported_whole(context):
    """Makes each client import the whole user. One whole import must be left."""
    context.uid = f"whole{context.next()}"
    return [("POST", f"{PROJECT}:batchCreate", json.dumps({"users": [
        {"localId": context.uid, "displayName": f"n{number}", "photoUrl": f"n{number}"}]}), OWNER) for number in range(CLIENTS)]


def whole(context, _, __):
    user = json.loads(context.connection.ask("POST", f"{PROJECT}:lookup", json.dumps({"localId": [context.uid]}), OWNER)[2])["users"]
    return len(user) if user[0]["displayName"] == user[0]["photoUrl"] else 0


def latest_reset(context):
    """Makes many codes to reset a password. As in production, only the latest one must work."""
    context.email = context.user()["email"]
    return "POST", f"/v1/accounts:sendOobCode?{KEY}", json.dumps({"requestType": "PASSWORD_RESET", "email": context.email}), REAL


def codes_left(context, _, __):
    codes = json.loads(context.ask("GET", "/emulator/v1/projects/demo-app/oobCodes")[2])["oobCodes"]
    return sum(context.ask("POST", f"{V1}:resetPassword?{KEY}", json.dumps({"oobCode": code["oobCode"]}))[0] == 200
               for code in codes if code["email"] == context.email)


class CountingPasskey(Passkey):
    count = 1

    def data(self, flags):
        return hashlib.sha256(b"localhost").digest() + bytes([flags]) + struct.pack(">I", self.count)


def passkey_count(context):
    """Each client has a challenge of its own, all signed with one count."""
    context.passkey = context.passkey or CountingPasskey(context)
    context.passkey.count += 1
    requests = []
    for _ in range(CLIENTS):
        challenge = context.v2("passkeySignIn:start")["credentialRequestOptions"]["challenge"]
        requests.append(("POST", f"{V2}/passkeySignIn:finalize?{KEY}", json.dumps(
            {"authenticatorAuthenticationResponse": context.passkey.signed(challenge)})))
    return requests


def apple_credential(context):
    """Firebase takes each nonce of an ID token once."""
    nonce = f"nonce{context.next()}"
    native = context.post(f"{CONTROL}/apple/authorizations", {
        "client": "com.example.app", "account": "ada", "nonce": hashlib.sha256(nonce.encode()).hexdigest()})
    return "POST", f"{V1}:signInWithIdp?{KEY}", json.dumps({"requestUri": "http://localhost", "returnSecureToken": True, "postBody": form(
        providerId="apple.com", id_token=native["identityToken"], nonce=nonce)})


# Devices

def google_device(context):
    context.order("google")
    client = {"client_id": DEVICE_CLIENT, "client_secret": "device-secret-for-tests"}
    device = context.post("/oauth2.googleapis.com/device/code", form(client_id=DEVICE_CLIENT, scope="openid email"))
    return "POST", "/oauth2.googleapis.com/token", form(**client, grant_type=DEVICE, device_code=device["device_code"])


def github_device_decided(context):
    browser, token = signed_in(context)
    device = context.post("/github.com/login/device/code", form(client_id=GITHUB))
    return [("POST", "/github.com/login/device/confirmation", form(
        authenticity_token=token, user_code=device["user_code"], authorize=number % 2), browser) for number in range(CLIENTS)]


def openid_device_decided(context):
    device = context.post("/oidc/corp/device_authorization", form(**CORP, scope="openid"))
    carried = hidden(context.ask("POST", "/oidc/corp/device", form(user_code=device["user_code"]))[2])["request"]
    consent = context.ask("POST", "/oidc/corp/device", form(request=carried, account="ada"))[2]
    fields, button = hidden(consent), re.search(r'<button[^>]* name="([^"]*)" value="([^"]*)"', consent)
    fields[button[1]] = button[2]
    return [("POST", "/oidc/corp/device", form(**(fields if number % 2 else {"request": carried, "action": "cancel"})))
            for number in range(CLIENTS)]


def github_user_codes(context):
    """Fifty codes of an app may be entered in an hour."""
    context.begin()
    browser, token = signed_in(context)
    device = context.post("/github.com/login/device/code", form(client_id=GITHUB))
    request = ("POST", "/github.com/login/device", form(authenticity_token=token, user_code=device["user_code"]), browser)
    for _ in range(30):
        context.connection.ask(*request)
    return request


# Limits, identifiers and changes of the control API

def full(context, member, item):
    """A world of its own, that begins with a queue of 980, of the 1,000 that it may have."""
    if hasattr(context, "world"):
        context.ask("DELETE", f"{CONTROL}/worlds/{context.world}")
    context.world = f"full{context.next()}"
    code, _, text = context.ask("PUT", f"/~{context.world}{CONTROL}/seed", json.dumps({member: [item] * 980}))
    if code != 200:
        raise SystemExit(f"seed: {code} {text}")
    return "POST", f"/~{context.world}{CONTROL}/{member}", json.dumps(item)


def full_faults(context):
    return full(context, "faults", {"match": {"path": "/nothing"}, "effect": {"status": 500}})


def full_outcomes(context):
    return full(context, "outcomes", {"provider": "github", "outcome": "cancel"})


def outcome_ids(context):
    context.ask("DELETE", f"{CONTROL}/outcomes")
    return "POST", f"{CONTROL}/outcomes", json.dumps({"provider": "github", "outcome": "approve", "account": "ada"})


def different(_, __, answers):
    return len({json.loads(text)["id"] for *_, text in answers})


def request_ids(_):
    return "GET", "/appleid.apple.com/.well-known/openid-configuration"


def different_requests(_, __, answers):
    return len({headers["understudy-request"] for _, headers, _ in answers})


def first_keys(context):
    """Keys are made when somebody asks for them first: all see the same."""
    context.begin()
    return [("GET", path) for path in (
        "/appleid.apple.com/auth/keys", "/www.googleapis.com/oauth2/v3/certs", "/oidc/corp/jwks",
        "/www.facebook.com/.well-known/oauth/openid/jwks/", "/identitytoolkit.googleapis.com/v1/publicKeys") for _ in range(10)]


def different_keys(_, requests, answers):
    return len({(request[1], answer[2]) for request, answer in zip(requests, answers)})


def taken_login(context):
    name = f"taken{context.next()}"
    return [("POST", f"{CONTROL}/accounts", json.dumps({
        "id": f"{name}-{number}", "email": f"{name}-{number}@example.org", "github": {"login": name}})) for number in range(CLIENTS)]


def changed_login(context):
    name = f"changed{context.next()}"
    for number in range(CLIENTS):
        context.post(f"{CONTROL}/accounts", {"id": f"{name}-{number}", "email": f"{name}-{number}@example.org"})
    return [("PATCH", f"{CONTROL}/accounts/{name}-{number}", json.dumps({"github": {"login": name}})) for number in range(CLIENTS)]


def changed_person(context):
    """Each client sets a claim of its own."""
    context.person = f"claims{context.next()}"
    context.post(f"{CONTROL}/accounts", {"id": context.person, "email": f"{context.person}@example.org"})
    return [("PATCH", f"{CONTROL}/accounts/{context.person}", json.dumps({"openid": {"claims": {f"c{number}": number}}}))
            for number in range(CLIENTS)]


def claims_left(context, _, __):
    return len(json.loads(context.ask("GET", f"{CONTROL}/accounts/{context.person}")[2])["openid"]["claims"])


def merged_seed(context):
    """Ten clients add an app each to the seed of a world of its own. Who is refused, because others changed the seed all the time, adds
    none."""
    if hasattr(context, "world"):
        context.ask("DELETE", f"{CONTROL}/worlds/{context.world}")
    context.world = f"merged{context.next()}"
    return [("POST", f"/~{context.world}{CONTROL}/seed", json.dumps({"github": {"oauthApps": [
        {"name": "X", "clientID": f"merged-{number}", "clientSecret": "a-secret-for-tests",
         "callbackURLs": [CALLBACK]}]}})) for number in range(10)]


def apps_missing(context, _, answers):
    apps = set(re.findall(r'"merged-\d+"', context.ask("GET", f"/~{context.world}{CONTROL}/seed")[2]))
    merged = sum(answer[0] == 200 for answer in answers)
    return abs(merged - len(apps)) if merged else 10


def scenario_ended(context):
    context.ask("POST", f"{CONTROL}/scenarios/cancelled-sign-in")
    return "DELETE", f"{CONTROL}/scenarios/cancelled-sign-in", ""


def world_port(context):
    if hasattr(context, "world"):
        context.ask("DELETE", f"{CONTROL}/worlds/{context.world}")
    context.world = f"port{context.next()}"
    return [("POST", f"{CONTROL}/worlds", json.dumps({"name": context.world, "listen": 0}))] * CLIENTS


def new_person(context):
    """A browser makes an account at GitHub's page."""
    name = f"new{context.next()}"
    return "POST", "/github.com/signup", form(
        login=name, username=name, email=f"{name}@example.org", return_to="/login/device", given="A", family="B", name="A B")


# Things that end while others use them: nothing from before may work afterwards

def amid(requests, end):
    random.shuffle(requests)
    requests.insert(len(requests) // 2, end)
    return requests


def reset_amid(context):
    """A code is redeemed while the world begins anew, in which it never was."""
    return amid([github(context)] * (CLIENTS - 1), ("POST", f"{CONTROL}/reset", ""))


def redeemed_twice(_, __, answers):
    return max(0, sum("access_token" in answer[2] for answer in answers) - 1)


def revoked_amid(context, provider, client, make, count):
    context.begin()
    return amid([make(context) for _ in range(count)],
                ("POST", f"{CONTROL}/{provider}/revocations", json.dumps({"account": "ada", "client": client})))


def github_revoked_amid(context):
    # A person has ten tokens of an app.
    return revoked_amid(context, "github", GITHUB, github, 9)


def github_tokens_left(context, _, answers):
    return sum(user_of(context, json.loads(answer[2])["access_token"])[0] == 200 for answer in answers if "access_token" in answer[2])


def google_revoked_amid(context):
    return revoked_amid(context, "google", GOOGLE, google, 40)


def google_tokens_left(context, _, answers):
    return sum(works(context, answer, "GET", "/openidconnect.googleapis.com/v1/userinfo", "", {
        "Authorization": f"Bearer {json.loads(answer[2])['access_token']}"}) for answer in answers if "access_token" in answer[2])


def facebook_revoked_amid(context):
    return revoked_amid(context, "facebook", "1234567890", facebook, 40)


def facebook_tokens_left(context, _, answers):
    return sum(works(context, answer, "GET", f"/graph.facebook.com/v19.0/me?{form(access_token=json.loads(answer[2])['access_token'])}")
               for answer in answers if "access_token" in answer[2])


def apple_revoked_amid(context):
    return revoked_amid(context, "apple", "com.example.app", apple, 30)


def apple_tokens_left(context, _, answers):
    return sum(works(context, answer, "POST", "/appleid.apple.com/auth/token", form(
        client_id="com.example.app", client_secret=context.secret, grant_type="refresh_token",
        refresh_token=json.loads(answer[2])["refresh_token"])) for answer in answers if "refresh_token" in answer[2])


def signed_out_amid(context):
    """The issuer's session ends while codes of its sign-ins are redeemed and others are asked for."""
    context.begin()
    target = "/oidc/corp/authorize?" + form(client_id="web", redirect_uri=CALLBACK, response_type="code", scope="openid profile")
    browser, codes = {}, []
    for _ in range(25):
        context.order("openid")
        headers = context.connection.ask("GET", target, "", browser)[1]
        if not browser:
            browser = {"Cookie": headers["set-cookie"].split(";")[0]}
        codes.append(query(headers["location"])["code"])
    requests = [("POST", "/oidc/corp/token", form(**CORP, grant_type="authorization_code", code=code, redirect_uri=CALLBACK))
                for code in codes]
    requests += [("GET", f"{target}&prompt=none", "", browser)] * 20
    return amid(requests, ("POST", f"{CONTROL}/openid/logouts", json.dumps({"issuer": "corp", "account": "ada"})))


def session_left(context, requests, answers):
    left = 0
    for request, answer in zip(requests, answers):
        code = query(answer[1].get("location", "")).get("code")
        if code:
            left += context.ask("POST", "/oidc/corp/token", form(
                **CORP, grant_type="authorization_code", code=code, redirect_uri=CALLBACK))[0] == 200
        elif request[1] == "/oidc/corp/token" and answer[0] == 200:
            left += works(context, answer, "GET", "/oidc/corp/userinfo", "", {
                "Authorization": f"Bearer {json.loads(answer[2])['access_token']}"})
    return left


def google_token_revoked(context):
    context.begin()
    context.order("google")
    asked = form(client_id=GOOGLE, redirect_uri=CALLBACK, response_type="code", scope="openid email", access_type="offline")
    code = query(context.ask("GET", f"/accounts.google.com/o/oauth2/v2/auth?{asked}")[1]["location"])["code"]
    tokens = context.post("/oauth2.googleapis.com/token", form(
        client_id=GOOGLE, client_secret="google-secret-for-tests", grant_type="authorization_code", code=code, redirect_uri=CALLBACK))
    return "POST", f"{CONTROL}/google/security-events", json.dumps(
        {"type": "token-revoked", "client": GOOGLE, "refreshToken": tokens["refresh_token"]})


def sign_in(user):
    return "POST", f"{V1}:signInWithPassword?{KEY}", json.dumps(
        {"email": user["email"], "password": "correct horse", "returnSecureToken": True})


def disabled_amid(context):
    user = context.user()
    return amid([sign_in(user)] * (CLIENTS - 1), (
        "POST", f"{PROJECT}:update", json.dumps({"localId": user["localId"], "disableUser": True}), OWNER))


def sessions_left(context, _, answers):
    return sum(works(context, answer, "POST", TOKENS, form(
        grant_type="refresh_token", refresh_token=json.loads(answer[2])["refreshToken"]))
        for answer in answers if "refreshToken" in answer[2])


def deleted_amid(context):
    """A user is deleted while it signs in, goes on, enrols and asks for mails."""
    user = context.user()
    context.uid = user["localId"]
    requests = [sign_in(user)] * 24
    requests += [("POST", TOKENS, form(grant_type="refresh_token", refresh_token=user["refreshToken"]))] * 10
    requests += [("POST", f"{V1}:sendOobCode?{KEY}", json.dumps({"requestType": "PASSWORD_RESET", "email": user["email"]}))] * 8
    requests += [("POST", f"{V1}:update?{KEY}", json.dumps({"idToken": user["idToken"], "displayName": "x"}))] * 4
    requests += [("POST", f"{V2}/mfaEnrollment:start?{KEY}", json.dumps(
        {"idToken": user["idToken"], "phoneEnrollmentInfo": {"phoneNumber": TEST_NUMBER}}))] * 3
    return amid(requests, ("POST", f"{PROJECT}:delete", json.dumps({"localId": user["localId"]}), OWNER))


def rows_left(context, _, __):
    """Returns the rows that are left, without those that give later refusals their reason."""
    return sum(context.uid in json.dumps(row) for name, table in rows(context).items()
               if name.startswith("firebase.") and name != "firebase.endedSession" for row in table)


def shows(*words):
    return lambda code, _, text: code == 200 and any(word in text for word in words)


KINDS = [
    Kind(given_number), Kind(given_address), Kind(given_identity), Kind(made_with_number), Kind(imported_whole, left=whole),
    Kind(latest_reset, left=codes_left), Kind(passkey_count), Kind(apple_credential), Kind(google_device),
    Kind(github_device_decided, shows("Your device is connected", "You have cancelled")),
    Kind(openid_device_decided, shows("Connected", "Cancelled")),
    Kind(github_user_codes, lambda code, *_: code == 200, 20),
    Kind(full_faults, status(201), 20), Kind(full_outcomes, status(201), 20), Kind(outcome_ids, left=different, expected=CLIENTS),
    Kind(request_ids, left=different_requests, expected=CLIENTS), Kind(first_keys, left=different_keys, expected=5),
    Kind(taken_login, status(201)), Kind(changed_login), Kind(changed_person, left=claims_left, expected=CLIENTS),
    Kind(merged_seed, left=apps_missing, expected=0), Kind(scenario_ended, shows('"withdrawn":true')),
    # Of two daemons, each has a port of its own for the world: of the clients, every other one asks the first.
    Kind(world_port, left=lambda _, __, answers: len({json.loads(text)["url"] for *_, text in answers[::2]})),
    Kind(new_person, status(302, 303)), Kind(reset_amid, left=redeemed_twice, expected=0),
    Kind(github_revoked_amid, left=github_tokens_left, expected=0), Kind(google_revoked_amid, left=google_tokens_left, expected=0),
    Kind(facebook_revoked_amid, left=facebook_tokens_left, expected=0), Kind(apple_revoked_amid, left=apple_tokens_left, expected=0),
    Kind(signed_out_amid, left=session_left, expected=0), Kind(google_token_revoked), Kind(disabled_amid, left=sessions_left, expected=0),
    Kind(deleted_amid, left=rows_left, expected=0),
]
