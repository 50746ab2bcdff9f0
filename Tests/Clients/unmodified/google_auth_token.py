"""google-auth: an ID token of an app on a device, judged by a backend that was told nothing."""

import google.auth.exceptions
import google.auth.transport.requests
from google.oauth2 import id_token

from control import control

CLIENT = "example.apps.googleusercontent.com"
transport = google.auth.transport.requests.Request()

token = control("google/authorizations", client=CLIENT, account="grace", scopes=["email", "profile"])["idToken"]
claims = id_token.verify_oauth2_token(token, transport, CLIENT)
assert (claims["email"], claims["hd"]) == ("grace@example.com", "example.com"), claims

for wanted in [{"audience": "another"}, {"audience": CLIENT, "token": token[:-4]}]:
    try:
        id_token.verify_oauth2_token(wanted.get("token", token), transport, wanted["audience"])
    except (ValueError, google.auth.exceptions.GoogleAuthError):
        continue
    raise AssertionError(wanted)
print("ok")
