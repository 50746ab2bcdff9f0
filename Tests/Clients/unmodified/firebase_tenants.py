"""firebase-admin's tenant management, which knows no emulator: tenants, their users, and their ID tokens."""

import firebase_admin
import google.oauth2.credentials
import requests
from firebase_admin import auth, credentials, exceptions, tenant_mgt

API = "https://identitytoolkit.googleapis.com/v1/accounts"
TOKENS = "https://securetoken.googleapis.com/v1/token?key=demo-api-key"


class Administrator(credentials.Base):
    """Credentials with an access token like that of a service account."""

    def get_credential(self):
        return google.oauth2.credentials.Credentials("ya29.administrator")


def call(operation, **body):
    return requests.post(f"{API}:{operation}?key=demo-api-key", json={"returnSecureToken": True, **body})


firebase_admin.initialize_app(Administrator(), {"projectId": "demo-app"})
made = tenant_mgt.create_tenant("acme-corp", allow_password_sign_up=True)
tenant = made.tenant_id
assert (made.display_name, made.allow_password_sign_up, made.enable_email_link_sign_in) == ("acme-corp", True, False)
other = tenant_mgt.create_tenant("other-corp")
changed = tenant_mgt.update_tenant(tenant, display_name="acme-two", enable_email_link_sign_in=True)
assert (changed.display_name, changed.allow_password_sign_up, changed.enable_email_link_sign_in) == ("acme-two", True, True)
assert tenant_mgt.get_tenant(tenant).display_name == "acme-two"
assert {each.tenant_id for each in tenant_mgt.list_tenants(max_results=1).iterate_all()} == {
    "demo-tenant", tenant, other.tenant_id}

users = tenant_mgt.auth_for_tenant(tenant)
user = users.create_user(email="ada@example.org", password="secret!", email_verified=True)
assert user.tenant_id == tenant
users.set_custom_user_claims(user.uid, {"admin": True})
signed_in = call("signInWithPassword", email="ada@example.org", password="secret!", tenantId=tenant).json()
claims = users.verify_id_token(signed_in["idToken"], clock_skew_seconds=5)
assert (claims["uid"], claims["admin"], claims["firebase"]["tenant"]) == (user.uid, True, tenant), claims
# Apps send only the token later.
looked = call("lookup", idToken=signed_in["idToken"]).json()
assert looked["users"][0]["tenantId"] == tenant, looked
refreshed = requests.post(TOKENS, data={"grant_type": "refresh_token", "refresh_token": signed_in["refreshToken"]}).json()
assert users.verify_id_token(refreshed["id_token"], clock_skew_seconds=5)["firebase"]["tenant"] == tenant
for refused, error in [
    (lambda: tenant_mgt.auth_for_tenant(other.tenant_id).verify_id_token(signed_in["idToken"], clock_skew_seconds=5),
     tenant_mgt.TenantIdMismatchError),
    (lambda: auth.get_user(user.uid), auth.UserNotFoundError),
    (lambda: tenant_mgt.get_tenant("no-such-tenant"), tenant_mgt.TenantNotFoundError),
    (lambda: tenant_mgt.update_tenant(tenant, display_name="no"), ValueError),
]:
    try:
        refused()
        raise SystemExit(f"expected {error.__name__}")
    except error:
        pass
imported = users.import_users([auth.ImportUserRecord(uid="imported", email="i@example.org")])
assert imported.failure_count == 0
assert sorted(each.email for each in users.list_users().iterate_all()) == ["ada@example.org", "i@example.org"]
assert call("signUp", email="b@example.org", password="secret!", tenantId=other.tenant_id).json()["error"][
    "message"] == "OPERATION_NOT_ALLOWED"
users.delete_user(user.uid)
tenant_mgt.delete_tenant(tenant)
assert call("lookup", idToken=signed_in["idToken"]).json()["error"]["message"] == "TENANT_DELETED"
try:
    tenant_mgt.get_tenant(tenant)
    raise SystemExit("a deleted tenant was found")
except exceptions.FirebaseError as error:
    assert "TENANT_NOT_FOUND" in str(error), error
print("ok")
