"""Firebase's own library for functions, asked by the daemon before people sign up and sign in."""

import logging
import os
import threading
import unittest.mock

import flask
import firebase_admin
import requests
import werkzeug.serving
from firebase_admin import _token_gen
from firebase_functions import identity_fn
from firebase_functions.https_fn import FunctionsErrorCode, HttpsError

from support import DaemonTestCase

PROJECT = "demo-app"


@identity_fn.before_user_created()
def created(event):
    if not event.data.email.endswith("@example.org"):
        raise HttpsError(FunctionsErrorCode.PERMISSION_DENIED, "only ours")
    return identity_fn.BeforeCreateResponse(
        display_name=f"{event.data.email} by {event.credential.sign_in_method if event.credential else 'password'}",
        photo_url="https://example.com/photo.png", custom_claims={"role": "tester"})


@identity_fn.before_user_signed_in()
def signed_in(event):
    return identity_fn.BeforeSignInResponse(
        email_verified=True, session_claims={"uid": event.data.uid, "created": str(event.data.metadata.creation_time)})


class Functions(DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        app = flask.Flask("functions")
        # A deployed function has an audience below run.app.
        app.add_url_rule("/demo.run.app/created", "created", lambda: created(flask.request), methods=["POST"])
        app.add_url_rule("/demo.run.app/signedIn", "signedIn", lambda: signed_in(flask.request), methods=["POST"])
        cls.server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        cls.url = f"http://127.0.0.1:{cls.server.server_port}/demo.run.app"

    def setUp(self):
        super().setUp()
        app = firebase_admin.initialize_app(options={"projectId": PROJECT})
        self.addCleanup(firebase_admin.delete_app, app)
        answer = requests.patch(
            f"{self.daemon.url}/identitytoolkit.googleapis.com/v2/projects/{PROJECT}/config?updateMask=blockingFunctions",
            headers={"Authorization": "Bearer owner"},
            json={"blockingFunctions": {"triggers": {
                "beforeCreate": {"functionUri": f"{self.url}/created"},
                "beforeSignIn": {"functionUri": f"{self.url}/signedIn"}}}})
        answer.raise_for_status()

    def sign_up(self, email, host=None):
        path = "" if host else "/identitytoolkit.googleapis.com"
        return requests.post(
            f"{self.daemon.url}{path}/v1/accounts:signUp?key=demo-api-key", headers={"Host": host} if host else {},
            json={"email": email, "password": "correct horse"}).json()

    def check(self, made, photo="https://example.com/photo.png"):
        self.assertIn("idToken", made, made)
        self.assertEqual(made["displayName"], "ada@example.org by password")
        found = requests.post(
            f"{self.daemon.url}/identitytoolkit.googleapis.com/v1/projects/{PROJECT}/accounts:lookup",
            headers={"Authorization": "Bearer owner"}, json={"email": ["ada@example.org"]}).json()["users"][0]
        self.assertEqual(found.get("photoUrl"), photo)
        self.assertEqual(found["customAttributes"], '{"role":"tester"}')
        self.assertTrue(found["emailVerified"])

    def test_emulator_mode(self):
        with unittest.mock.patch.dict(os.environ, FIREBASE_AUTH_EMULATOR_HOST=f"localhost:{self.daemon.port}"):
            self.check(self.sign_up("ada@example.org"))
            refused = self.sign_up("eve@example.com")
        self.assertIn("only ours", refused["error"]["message"])

    def test_signed_token(self):
        """Checks that at the real host the library verifies the token with the keys that the daemon publishes."""
        certificates = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        with unittest.mock.patch.object(
            _token_gen, "ID_TOKEN_CERT_URI", f"{self.daemon.url}/www.googleapis.com{certificates}"
        ):
            # Production doesn't keep the photo.
            self.check(self.sign_up("ada@example.org", host="identitytoolkit.googleapis.com"), photo=None)
            refused = self.sign_up("eve@example.com", host="identitytoolkit.googleapis.com")
            unsigned = self.sign_up("bob@example.org")
        self.assertTrue(refused["error"]["message"].startswith(
            "BLOCKING_FUNCTION_ERROR_RESPONSE : HTTP Cloud Function returned an error: {"), refused)
        # The library takes no unsigned token outside emulator mode.
        self.assertIn("error 500", unsigned["error"]["message"])
