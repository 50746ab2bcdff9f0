"""msal: code with PKCE, a silent refresh, the device flow, and an app's own token."""

import urllib.parse

import msal
import requests

from control import control

TENANT = "11111111-1111-4111-8111-111111111111"
WEB, DEVICE, API = ("22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333", "44444444-4444-4444-8444-444444444444")
AUTHORITY = "https://login.microsoftonline.com"
CALLBACK = "http://localhost:3000/callback"


def approve(account):
    control("outcomes", provider="microsoft", outcome="approve", account=account)


def person(token):
    return requests.get("https://graph.microsoft.com/v1.0/me", headers={"Authorization": f"Bearer {token}"}).json()


def answer(app, scopes, account):
    flow = app.initiate_auth_code_flow(scopes, redirect_uri=CALLBACK)
    approve(account)
    callback = requests.get(flow["auth_uri"], allow_redirects=False).headers["Location"]
    return flow, dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(callback).query))


for place, account in [("common", "ada"), ("consumers", "grace"), ("example.onmicrosoft.com", "ada"), (TENANT, "ada")]:
    app = msal.ConfidentialClientApplication(
        WEB, client_credential="microsoft-secret-for-tests", authority=f"{AUTHORITY}/{place}")
    result = app.acquire_token_by_auth_code_flow(*answer(app, ["User.Read"], account))
    assert "error" not in result, result
    claims = result["id_token_claims"]
    assert person(result["access_token"])["id"] == claims["oid"], claims
    accounts = app.get_accounts()
    assert accounts[0]["home_account_id"] == f"{claims['oid']}.{claims['tid']}", accounts
    kept = app.acquire_token_silent(["User.Read"], accounts[0])
    assert kept["access_token"] == result["access_token"], kept
    renewed = app.acquire_token_silent(["User.Read"], accounts[0], force_refresh=True)
    assert renewed["access_token"] != result["access_token"], renewed
    refused = app.acquire_token_silent_with_error(["Mail.Read"], accounts[0])
    assert refused["error"] == "invalid_grant" and refused["classification"] == "consent_required", refused

flow, fields = answer(app, [f"api://{API}/Tasks.Read"], "ada")
assert "access_token" in app.acquire_token_by_auth_code_flow(dict(flow), fields)
again = app.acquire_token_by_auth_code_flow(flow, fields)
assert again["error_codes"] == [54005], again

device = msal.PublicClientApplication(DEVICE, authority=f"{AUTHORITY}/organizations")
flow = device.initiate_device_flow(["User.Read"])
assert "microsoft.com/devicelogin" in flow["message"], flow
pending = device.client.obtain_token_by_device_flow(flow, exit_condition=lambda flow: True, data={"code": flow["device_code"]})
assert pending["error"] == "authorization_pending", pending
approve("ada")
result = device.acquire_token_by_device_flow(flow)
assert person(result["access_token"])["displayName"] == "Ada Lovelace", result

own = app.acquire_token_for_client([f"api://{API}/.default"])
assert own["token_type"] == "Bearer" and own["access_token"].count(".") == 2, own
assert app.acquire_token_for_client([f"api://{API}/.default"])["token_source"] == "cache"
wrong = msal.ConfidentialClientApplication(WEB, client_credential="wrong", authority=f"{AUTHORITY}/{TENANT}")
assert wrong.acquire_token_for_client(["https://graph.microsoft.com/.default"])["error_codes"] == [7000215]
print("ok")
