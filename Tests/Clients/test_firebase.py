"""firebase-admin for Python against the daemon, as it is used with the Emulator Suite: FIREBASE_AUTH_EMULATOR_HOST."""

import base64
import json
import os
import time
import unittest.mock

import firebase_admin
import firebase_admin.tenant_mgt
import google.auth.credentials
import requests
from firebase_admin import auth, exceptions

from support import DaemonTestCase

PROJECT = "demo-app"


class Anonymous(google.auth.credentials.Credentials):
    """No credentials: with an emulator the SDK sends "owner"."""

    def refresh(self, request):
        pass


class EmulatorCredential(firebase_admin.credentials.Base):
    def get_credential(self):
        return Anonymous()


class FirebaseAdmin(DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        patch = unittest.mock.patch.dict(os.environ, {"FIREBASE_AUTH_EMULATOR_HOST": f"localhost:{cls.daemon.port}"})
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.app = firebase_admin.initialize_app(EmulatorCredential(), {"projectId": PROJECT})
        cls.addClassCleanup(firebase_admin.delete_app, cls.app)

    def client(self, operation, **body):
        """Sends a call as an app does."""
        answer = requests.post(
            f"{self.daemon.url}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=demo-api-key", json=body)
        answer.raise_for_status()
        return answer.json()

    def sign_in(self, email="ada@example.org", password="secret!"):
        return self.client("signInWithPassword", email=email, password=password, returnSecureToken=True)

    def test_users(self):
        made = auth.create_user(
            uid="u1", email="ada@example.org", password="secret!", display_name="Ada", phone_number="+15555550101",
            email_verified=True, photo_url="https://example.com/a.png")
        self.assertEqual((made.uid, made.email, made.display_name), ("u1", "ada@example.org", "Ada"))
        for found in [
            auth.get_user("u1"), auth.get_user_by_email("ada@example.org"), auth.get_user_by_phone_number("+15555550101"),
        ]:
            self.assertEqual(found.uid, "u1")
        self.assertTrue(made.email_verified)
        changed = auth.update_user("u1", display_name=auth.DELETE_ATTRIBUTE, disabled=True)
        self.assertIsNone(changed.display_name)
        self.assertTrue(changed.disabled)
        with self.assertRaises(auth.UidAlreadyExistsError):
            auth.create_user(uid="u1")
        with self.assertRaises(auth.EmailAlreadyExistsError):
            auth.create_user(email="ada@example.org")
        with self.assertRaises(auth.PhoneNumberAlreadyExistsError):
            auth.create_user(phone_number="+15555550101")
        auth.delete_user("u1")
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user("u1")

    def test_lists(self):
        for number in range(5):
            auth.create_user(uid=f"u{number}", email=f"u{number}@example.org")
        page = auth.list_users(max_results=2)
        self.assertEqual(len(page.users), 2)
        self.assertTrue(page.has_next_page)
        self.assertEqual(sorted(user.uid for user in auth.list_users().iterate_all()), [f"u{n}" for n in range(5)])
        found = auth.get_users([auth.UidIdentifier("u1"), auth.EmailIdentifier("u2@example.org"), auth.UidIdentifier("none")])
        self.assertEqual(sorted(user.uid for user in found.users), ["u1", "u2"])
        self.assertEqual(len(found.not_found), 1)
        result = auth.delete_users(["u1", "u2", "none"])
        self.assertEqual((result.success_count, result.failure_count), (3, 0))

    def test_import(self):
        users = [
            auth.ImportUserRecord(
                uid="imported", email="i@example.org", password_hash=b"hash", password_salt=b"salt",
                custom_claims={"role": "x"},
                provider_data=[auth.UserProvider("1815", "github.com", display_name="Ada")]),
        ]
        result = auth.import_users(users, hash_alg=auth.UserImportHash.sha256(rounds=1))
        self.assertEqual((result.success_count, result.failure_count), (1, 0))
        found = auth.get_user("imported")
        self.assertEqual(found.custom_claims, {"role": "x"})
        self.assertEqual(found.provider_data[0].uid, "1815")
        by_provider = auth.get_users([auth.ProviderIdentifier("github.com", "1815")])
        self.assertEqual(by_provider.users[0].uid, "imported")

    def test_claims_and_verification(self):
        user = auth.create_user(email="ada@example.org", password="secret!")
        auth.set_custom_user_claims(user.uid, {"admin": True})
        token = self.sign_in()["idToken"]
        claims = auth.verify_id_token(token, check_revoked=True)
        self.assertEqual((claims["uid"], claims["admin"]), (user.uid, True))
        with self.assertRaisesRegex(ValueError, "aud"):
            auth.set_custom_user_claims(user.uid, {"aud": "x"})
        self.daemon.control("clock", advance="10s")
        auth.revoke_refresh_tokens(user.uid)
        auth.update_user(user.uid, valid_since=int(time.time()) + 20)
        with self.assertRaises(auth.RevokedIdTokenError):
            auth.verify_id_token(token, check_revoked=True)
        auth.update_user(user.uid, disabled=True)
        with self.assertRaises(auth.UserDisabledError):
            auth.verify_id_token(token, check_revoked=True)
        with self.assertRaises(auth.InvalidIdTokenError):
            auth.verify_id_token("nonsense")

    def test_session_cookies(self):
        user = auth.create_user(email="ada@example.org", password="secret!")
        cookie = auth.create_session_cookie(self.sign_in()["idToken"], expires_in=600)
        self.assertEqual(auth.verify_session_cookie(cookie, check_revoked=True)["uid"], user.uid)
        with self.assertRaises(auth.InvalidIdTokenError):
            auth.create_session_cookie("nonsense", expires_in=600)
        auth.update_user(user.uid, valid_since=int(time.time()) + 20)
        with self.assertRaises(auth.RevokedSessionCookieError):
            auth.verify_session_cookie(cookie, check_revoked=True)

    def test_custom_tokens(self):
        token = auth.create_custom_token("custom-1", {"level": 7}).decode()
        signed_in = self.client("signInWithCustomToken", token=token, returnSecureToken=True)
        claims = auth.verify_id_token(signed_in["idToken"])
        self.assertEqual((claims["uid"], claims["level"]), ("custom-1", 7))

    def test_links(self):
        auth.create_user(email="ada@example.org", password="secret!")
        link = auth.generate_password_reset_link("ada@example.org")
        page = requests.get(link, headers={"Accept": "text/html"})
        self.assertIn("Choose a new password", page.text)
        verification = auth.generate_email_verification_link(
            "ada@example.org", auth.ActionCodeSettings(url="http://localhost:5000/done"))
        gone = requests.get(verification, allow_redirects=False)
        self.assertEqual(gone.headers["Location"], "http://localhost:5000/done")
        self.assertTrue(auth.get_user_by_email("ada@example.org").email_verified)
        sign_in = auth.generate_sign_in_with_email_link(
            "ada@example.org", auth.ActionCodeSettings(url="http://localhost:5000/", handle_code_in_app=True))
        location = requests.get(sign_in, allow_redirects=False).headers["Location"]
        code = dict(part.split("=") for part in location.split("?")[1].split("&"))["oobCode"]
        signed_in = self.client("signInWithEmailLink", email="ada@example.org", oobCode=code)
        self.assertEqual(auth.verify_id_token(signed_in["idToken"])["email"], "ada@example.org")
        with self.assertRaises(exceptions.FirebaseError):
            auth.generate_password_reset_link("nobody@example.org")

    def test_tenants(self):
        made = requests.post(
            f"{self.daemon.url}/identitytoolkit.googleapis.com/v2/projects/{PROJECT}/tenants",
            headers={"Authorization": "Bearer owner"}, json={"displayName": "acme", "allowPasswordSignup": True}).json()
        tenant = made["name"].rsplit("/", 1)[1]
        users = firebase_admin.tenant_mgt.auth_for_tenant(tenant)
        user = users.create_user(email="ada@example.org", password="secret!")
        self.assertEqual(user.tenant_id, tenant)
        token = self.client(
            "signInWithPassword", email="ada@example.org", password="secret!", tenantId=tenant)["idToken"]
        self.assertEqual(users.verify_id_token(token)["firebase"]["tenant"], tenant)
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user(user.uid)
        with self.assertRaises(firebase_admin.tenant_mgt.TenantIdMismatchError):
            firebase_admin.tenant_mgt.auth_for_tenant("another").verify_id_token(token)

    def test_tokens_are_unsigned(self):
        """Checks that tokens are unsigned, as the official emulator's are. SDKs in emulator mode accept them."""
        auth.create_user(email="ada@example.org", password="secret!")
        head = self.sign_in()["idToken"].split(".")[0]
        self.assertEqual(json.loads(base64.urlsafe_b64decode(head + "=="))["alg"], "none")


if __name__ == "__main__":
    unittest.main()
