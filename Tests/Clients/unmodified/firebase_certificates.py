"""firebase-admin without emulator variables: ID tokens are judged by Google's certificates."""

import firebase_admin
import requests
import google.auth.credentials
from firebase_admin import auth, credentials

from control import control



class Nobody(credentials.Base):
    """Verifying needs no credentials, and this machine has none."""

    def get_credential(self):
        return google.auth.credentials.AnonymousCredentials()


firebase_admin.initialize_app(Nobody(), {"projectId": "demo-app"})
made = requests.post(
    "https://identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
    json={"email": "ada@example.com", "password": "correct horse", "returnSecureToken": True})
made.raise_for_status()
claims = auth.verify_id_token(made.json()["idToken"], clock_skew_seconds=5)
assert claims["uid"] == made.json()["localId"], claims
forged = control("tokens", provider="firebase", client="demo-app", account="ada@example.com", signature="invalid")
try:
    auth.verify_id_token(forged["token"])
    raise SystemExit("a forged token was taken")
except auth.InvalidIdTokenError:
    print("ok")
