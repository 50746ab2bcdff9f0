"""Checks for `redeem` of things that exist or end only once: of fifty clients that make, link, delete or revoke the
same thing, one succeeds."""
import base64
import json
import random
import time

from single_use import (
    CALLBACK, CLIENTS, CONTROL, CORP, GITHUB, GITHUB_APP, GITHUB_SECRET, KEY, OWNER, PLAIN, TEST_CODE, TEST_NUMBER, V1, V2, Kind,
    answered, apple, facebook, form, github, github_tokens, google, nested, openid, query)

FAKES = "key=fakes-key"
PROJECT = "/identitytoolkit.googleapis.com/v1/projects/demo-app/accounts"
TENANTS = f"/identitytoolkit.googleapis.com/v2/projects/{PLAIN}/tenants"
CONFIGS = "/identitytoolkit.googleapis.com/v2/projects/demo-app/oauthIdpConfigs"
AUDIENCE = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
GOOGLE = "example.apps.googleusercontent.com"


def status(*codes):
    return lambda code, *_: code in codes


def new_users(_, __, answers):
    """Returns the number of answers that say that the user is new."""
    return sum('"isNewUser":true' in text for *_, text in answers)


def admin(context, method, target, body=None):
    code, _, text = context.connection.ask(method, target, json.dumps(body) if body is not None else "", OWNER)
    if code != 200:
        raise SystemExit(f"{method} {target}: {code} {text}")
    return json.loads(text)


# Users

def fake(subject, **claims):
    """A sign-in with the Emulator Suite's fake credential."""
    token = json.dumps({"sub": subject, "email_verified": True, **claims})
    return {"requestUri": "http://localhost", "postBody": form(providerId="google.com", id_token=token), "returnSecureToken": True}


def with_idp(**fields):
    return "POST", f"{V1}:signInWithIdp?{FAKES}", json.dumps(fields)


def anonymous(context):
    return context.post(f"{V1}:signUp?{FAKES}", {"returnSecureToken": True})["idToken"]


def new_identity(context):
    return with_idp(**fake(f"s{context.next()}"))


def new_identities(context):
    """Each client has an identity of its own, all with one address."""
    email = f"e{context.next()}@example.org"
    return [with_idp(**fake(f"{email}{number}", email=email)) for number in range(CLIENTS)]


def custom_user(context):
    now = int(time.time())
    token = json.dumps({"uid": f"custom{context.next()}", "aud": AUDIENCE, "iat": now, "exp": now + 3_000})
    return "POST", f"{V1}:signInWithCustomToken?{KEY}", json.dumps({"token": token, "returnSecureToken": True})


def texts(context, idTokens=None):
    """Each client has a text message of its own, all to one new number."""
    number = f"+1555557{context.next():04}"
    requests = []
    for idToken in idTokens or [None] * CLIENTS:
        body = {"sessionInfo": context.v1("sendVerificationCode", phoneNumber=number)["sessionInfo"], "code": context.texted()}
        if idToken:
            body["idToken"] = idToken
        requests.append(("POST", f"{V1}:signInWithPhoneNumber?{KEY}", json.dumps(body)))
    return requests


def new_number(context):
    return texts(context)


def linked_number(context):
    """Many users want one number."""
    return texts(context, [context.v1("signUp", returnSecureToken=True)["idToken"] for _ in range(CLIENTS)])


def linked_identity(context):
    subject = f"l{context.next()}"
    return [with_idp(**fake(subject), idToken=anonymous(context)) for _ in range(CLIENTS)]


def changed_address(context):
    email = f"b{context.next()}@example.org"
    requests = []
    for number in range(CLIENTS):
        token = context.post(f"{V1}:signUp?{FAKES}", {
            "email": f"{number}{email}", "password": "correct horse", "returnSecureToken": True})["idToken"]
        requests.append(("POST", f"{V1}:update?{FAKES}", json.dumps({"idToken": token, "email": email})))
    return requests


def address_codes(context):
    """Each client has a code of its own, all to one new address."""
    email = f"c{context.next()}@example.org"
    requests = []
    for number in range(CLIENTS):
        token = context.v1("signUp", email=f"{number}{email}", password="correct horse", returnSecureToken=True)["idToken"]
        code = context.mailed(requestType="VERIFY_AND_CHANGE_EMAIL", idToken=token, newEmail=email)
        requests.append(("POST", f"{V1}:update?{KEY}", json.dumps({"oobCode": code})))
    return requests


def email_links(context):
    email = f"m{context.next()}@example.org"
    codes = [context.mailed(requestType="EMAIL_SIGNIN", email=email, continueUrl="http://localhost:3000/") for _ in range(CLIENTS)]
    return [("POST", f"{V1}:signInWithEmailLink?{KEY}", json.dumps({"oobCode": code, "email": email})) for code in codes]


def wanted_id(context):
    return "POST", PROJECT, json.dumps({"localId": f"wanted{context.next()}"}), OWNER


def imported_address(context):
    email = f"i{context.next()}@example.org"
    return [("POST", f"{PROJECT}:batchCreate", json.dumps({
        "users": [{"localId": f"{email}{number}", "email": email}], "sanityCheck": True}), OWNER) for number in range(CLIENTS)]


def imported(code, _, text):
    return code == 200 and '"error":[]' in text


def passkeys(context):
    """A user may have ten."""
    token = anonymous(context)
    return [passkey(token, f"k{context.next()}") for _ in range(CLIENTS)]


def shared_passkey(context):
    name = f"o{context.next()}"
    return [passkey(anonymous(context), name) for _ in range(CLIENTS)]


def passkey(token, name):
    return "POST", f"{V2}/passkeyEnrollment:finalize?{FAKES}", json.dumps(
        {"idToken": token, "authenticatorRegistrationResponse": {"id": name}})


def withdrawn_factor(context):
    user = context.user()
    session = context.v2("mfaEnrollment:start", idToken=user["idToken"], phoneEnrollmentInfo={"phoneNumber": TEST_NUMBER})
    token = context.v2("mfaEnrollment:finalize", idToken=user["idToken"], phoneVerificationInfo={
        "sessionInfo": session["phoneSessionInfo"]["sessionInfo"], "code": TEST_CODE})["idToken"]
    factor = context.v1("lookup", idToken=token)["users"][0]["mfaInfo"][0]["mfaEnrollmentId"]
    return "POST", f"{V2}/mfaEnrollment:withdraw?{KEY}", json.dumps({"idToken": token, "mfaEnrollmentId": factor})


def deleted_user(context):
    token = context.v1("signUp", returnSecureToken=True)["idToken"]
    return "POST", f"{V1}:delete?{KEY}", json.dumps({"idToken": token})


def user_deleted_by_admin(context):
    return "POST", f"{PROJECT}:delete", json.dumps({"localId": context.v1("signUp")["localId"]}), OWNER


# Settings of administrators

def deleted_tenant(context):
    made = admin(context, "POST", TENANTS, {"displayName": "corp", "allowPasswordSignup": True})
    return "DELETE", f"{TENANTS}/{made['name'].rsplit('/', 1)[1]}", "", OWNER


def provider(context):
    # A project has a hundred at most.
    if hasattr(context, "provider"):
        context.connection.ask("DELETE", f"{CONFIGS}/{context.provider}", "", OWNER)
    context.provider = f"oidc.c{context.next()}"
    return "POST", f"{CONFIGS}?oauthIdpConfigId={context.provider}", json.dumps(
        {"clientId": "x", "issuer": "https://example.org", "responseType": {"idToken": True}}), OWNER


def deleted_provider(context):
    made = provider(context)
    context.connection.ask(*made)
    return "DELETE", f"{CONFIGS}/{made[1].split('=')[1]}", "", OWNER


# Grants and sessions

def app(context):
    credentials = base64.b64encode(f"{GITHUB_APP}:{GITHUB_SECRET}".encode()).decode()
    # An app may ask 5,000 times an hour.
    if context.next() % 90 == 0:
        context.begin()
    return {"Authorization": f"Basic {credentials}", "User-Agent": "redeem"}


def github_token_deleted(context):
    headers = app(context)
    body = json.dumps({"access_token": github_tokens(context)["access_token"]})
    return "DELETE", f"/api.github.com/applications/{GITHUB_APP}/token", body, headers


def github_grant_deleted(context):
    method, target, body, headers = github_token_deleted(context)
    return method, target.replace("/token", "/grant"), body, headers


def github_ten_tokens(context):
    context.begin()
    return [github(context) for _ in range(CLIENTS)]


def user_of(context, token):
    return context.connection.ask("GET", "/api.github.com/user", "", {"Authorization": f"Bearer {token}", "User-Agent": "redeem"})


def ten_left(context, _, answers):
    return sum(user_of(context, json.loads(text).get("access_token"))[0] == 200 for *_, text in answers)


def github_rate(context):
    context.begin()
    context.token = context.post(*github(context)[1:])["access_token"]
    return "GET", "/api.github.com/user", "", {"Authorization": f"Bearer {context.token}", "User-Agent": "redeem"}


def rate_used(context, _, __):
    """This request is one more."""
    return int(user_of(context, context.token)[1]["x-ratelimit-used"])


def facebook_app_removed(context):
    token = context.post(*facebook(context)[1:])["access_token"]
    return "DELETE", f"/graph.facebook.com/v19.0/me/permissions?{form(access_token=token)}"


def google_revoked(context):
    return "POST", "/oauth2.googleapis.com/revoke", form(token=context.post(*google(context)[1:])["access_token"])


def google_first_consent(context):
    context.begin()
    context.order("google", times=CLIENTS)
    return "GET", "/accounts.google.com/o/oauth2/v2/auth?" + form(
        client_id=GOOGLE, redirect_uri=CALLBACK, response_type="code", scope="openid", access_type="offline")


def refresh_tokens(context, _, answers):
    """The first consent alone brings one."""
    tokens = [context.post("/oauth2.googleapis.com/token", form(
        client_id=GOOGLE, client_secret="google-secret-for-tests", grant_type="authorization_code", redirect_uri=CALLBACK,
        code=query(headers["location"])["code"])) for _, headers, _ in answers]
    return sum("refresh_token" in token for token in tokens)


def apple_first_sign_in(context):
    context.begin()
    return "POST", f"{CONTROL}/apple/authorizations", json.dumps(
        {"client": "com.example.app", "account": "ada", "scopes": ["fullName", "email"]})


def names_told(_, __, answers):
    return sum('"fullName":{' in text for *_, text in answers)


def openid_session_ended(context):
    refresh = context.post(*openid(context)[1:])["refresh_token"]
    return "POST", "/oidc/corp/logout", form(**CORP, refresh_token=refresh)


def openid_logout(context):
    context.begin()
    context.post(*openid(context)[1:])
    return "POST", f"{CONTROL}/openid/logouts", json.dumps({"issuer": "corp", "account": "ada"})


def sessions_ended(_, __, answers):
    return sum(json.loads(text)["sessions"] for *_, text in answers)


def revocation(context, provider, prepare, client):
    context.begin()
    context.post(*prepare(context)[1:3])
    return "POST", f"{CONTROL}/{provider}/revocations", json.dumps({"account": "ada", "client": client})


def github_revocation(context):
    return revocation(context, "github", github, GITHUB)


def google_revocation(context):
    return revocation(context, "google", google, GOOGLE)


def apple_revocation(context):
    return revocation(context, "apple", apple, "com.example.app")


def facebook_revocation(context):
    return revocation(context, "facebook", facebook, "1234567890")


def openid_revocation(context):
    return revocation(context, "openid", openid, "web")


def apple_account_deleted(context):
    method, target, body = apple_revocation(context)
    return method, f"{CONTROL}/apple/notifications", json.dumps({**json.loads(body), "type": "account-deleted"})


def apple_consent_revoked(context):
    method, target, body = apple_account_deleted(context)
    return method, target, body.replace("account-deleted", "consent-revoked")


# The control API

def fault(context):
    """Seven requests meet it."""
    context.ask("DELETE", f"{CONTROL}/faults")
    context.post(f"{CONTROL}/faults", {"match": {"host": "github.com"}, "effect": {"status": 418}, "times": 7})
    return "GET", "/github.com/login"


def person(context):
    name = f"p{context.next()}"
    return "POST", f"{CONTROL}/accounts", json.dumps({"id": name, "email": f"{name}@example.org", "name": {"given": "P"}})


def deleted_person(context):
    made = person(context)
    context.ask(*made)
    return "DELETE", f"{CONTROL}/accounts/{json.loads(made[2])['id']}"


def withdrawn_outcome(context):
    made = context.post(f"{CONTROL}/outcomes", {"provider": "github", "outcome": "approve", "account": "ada"})
    return "DELETE", f"{CONTROL}/outcomes/{made['id']}"


def mail(_):
    return "POST", f"{CONTROL}/mail", json.dumps({"from": "a@example.org", "to": ["b@example.org"], "subject": "x", "text": "y"})


def numbers(_, __, answers):
    return len({json.loads(text)["messages"][0]["id"] for *_, text in answers})


def deleted_mail(context):
    sent = json.loads(context.ask(*mail(context))[2])
    return "DELETE", f"{CONTROL}/mail/{sent['messages'][0]['id']}"


def clock(context):
    context.ask("POST", f"{CONTROL}/clock", json.dumps({"set": "2026-01-01T00:00:00Z", "freeze": True}))
    return "POST", f"{CONTROL}/clock", json.dumps({"advance": "1m"})


def minutes(context, _, __):
    now = json.loads(context.ask("GET", f"{CONTROL}/clock")[2])["now"]
    context.ask("POST", f"{CONTROL}/clock", json.dumps({"reset": True}))
    return int(now[11:13]) * 60 + int(now[14:16])


# Things that many clients change at once: every change must be left

def profile(context):
    """An administrator sets one thing with each request, while the user signs in and goes on with sessions."""
    number = context.next()
    user = context.v1("signUp", email=f"profile{number}@example.org", password="correct horse", returnSecureToken=True)
    context.uid = user["localId"]
    changes = [{"displayName": "N"}, {"photoUrl": "http://localhost/"}, {"phoneNumber": f"+1555559{number:04}"},
               {"customAttributes": '{"a":1}'}, {"emailVerified": True}]
    changes += [{"linkProviderUserInfo": {"providerId": name, "rawId": f"{number}"}} for name in ("google.com", "github.com", "facebook.com")]
    requests = [("POST", f"{PROJECT}:update", json.dumps({"localId": context.uid, **change}), OWNER) for change in changes]
    requests += [("POST", f"{V1}:signInWithPassword?{KEY}", json.dumps({"email": user["email"], "password": "correct horse"}))] * 20
    requests += [("POST", f"/securetoken.googleapis.com/v1/token?{KEY}", form(
        grant_type="refresh_token", refresh_token=user["refreshToken"]))] * 20
    random.shuffle(requests)
    return requests


def profile_left(context, _, __):
    user = admin(context, "POST", f"{PROJECT}:lookup", {"localId": [context.uid]})["users"][0]
    providers = {one["providerId"] for one in user["providerUserInfo"]}
    return sum(name in user for name in ("displayName", "photoUrl", "phoneNumber", "customAttributes")) + user["emailVerified"] + len(
        providers & {"google.com", "github.com", "facebook.com"})


def tenant(context):
    made = admin(context, "POST", TENANTS, {"displayName": "corp"})
    context.tenant = f"{TENANTS}/{made['name'].rsplit('/', 1)[1]}"
    fields = [("displayName", "other"), ("allowPasswordSignup", True), ("enableEmailLinkSignin", True), ("enableAnonymousUser", True),
              ("testPhoneNumbers", {TEST_NUMBER: TEST_CODE}), ("mfaConfig.state", "ENABLED"),
              ("monitoring.requestLogging", {"enabled": True})]
    return [("PATCH", f"{context.tenant}?updateMask={path}", json.dumps(nested(path.split("."), value)), OWNER)
            for path, value in fields]


def tenant_left(context, _, __):
    made = admin(context, "GET", context.tenant)
    return sum([made["displayName"] == "other", made["mfaConfig"]["state"] == "ENABLED", *(name in made for name in (
        "allowPasswordSignup", "enableEmailLinkSignin", "enableAnonymousUser", "testPhoneNumbers", "monitoring"))])


def world(context):
    return "POST", f"{CONTROL}/worlds", json.dumps({"name": f"w{context.next()}"})


def deleted_world(context):
    name = f"w{context.next()}"
    context.connection.ask("POST", f"{CONTROL}/worlds", json.dumps({"name": name}))
    return "DELETE", f"{CONTROL}/worlds/{name}", ""


KINDS = [
    Kind(new_identity, left=new_users), Kind(new_identities, left=new_users), Kind(custom_user, left=new_users),
    Kind(new_number, left=new_users), Kind(email_links, left=new_users),
    Kind(linked_number, lambda code, _, text: code == 200 and '"idToken"' in text), Kind(linked_identity), Kind(changed_address),
    Kind(address_codes), Kind(wanted_id), Kind(imported_address, imported), Kind(passkeys, expected=10), Kind(shared_passkey),
    Kind(withdrawn_factor), Kind(deleted_user), Kind(user_deleted_by_admin), Kind(deleted_tenant), Kind(provider),
    Kind(deleted_provider),
    Kind(github_token_deleted, status(204)), Kind(github_grant_deleted, status(204)),
    Kind(github_ten_tokens, left=ten_left, expected=10), Kind(github_rate, left=rate_used, expected=CLIENTS + 1),
    Kind(facebook_app_removed), Kind(google_revoked), Kind(google_first_consent, left=refresh_tokens),
    Kind(apple_first_sign_in, left=names_told), Kind(openid_session_ended, status(204)), Kind(openid_logout, left=sessions_ended),
    Kind(github_revocation), Kind(google_revocation), Kind(apple_revocation), Kind(facebook_revocation),
    Kind(openid_revocation, lambda *answer: answered(*answer) and '"revoked":true' in answer[2]), Kind(apple_account_deleted),
    Kind(apple_consent_revoked),
    Kind(fault, status(418), 7), Kind(person, status(201)), Kind(deleted_person, status(204)), Kind(withdrawn_outcome, status(204)),
    Kind(mail, left=numbers, expected=CLIENTS), Kind(deleted_mail, status(204)), Kind(clock, left=minutes, expected=CLIENTS),
    Kind(profile, left=profile_left, expected=8), Kind(tenant, left=tenant_left, expected=7),
    Kind(world, status(201)), Kind(deleted_world, status(204)),
]
