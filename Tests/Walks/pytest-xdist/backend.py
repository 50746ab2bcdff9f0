"""A small backend: people sign in with Google, by discovery and PKCE, and get a session."""

import base64
import hashlib
import secrets
import urllib.parse

import jwt
import requests


class Refused(Exception):
    pass


class Backend:
    def __init__(self, google="https://accounts.google.com"):
        self.google = google
        self.client = ("example.apps.googleusercontent.com", "google-secret-for-tests")
        self.callback = "http://localhost:3000/callback"
        self.pending, self.sessions = {}, {}
        self.http, self.document = requests.Session(), None

    def discovered(self, name):
        if not self.document:
            answer = self.http.get(f"{self.google}/.well-known/openid-configuration", timeout=30)
            answer.raise_for_status()
            self.document = answer.json()
        return self.document[name]

    def begin(self):
        """Returns the address to which the browser goes."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        self.pending[state] = nonce, verifier
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        return f"{self.discovered('authorization_endpoint')}?" + urllib.parse.urlencode({
            "client_id": self.client[0], "redirect_uri": self.callback, "response_type": "code",
            "scope": "openid email profile", "state": state, "nonce": nonce,
            "code_challenge": challenge, "code_challenge_method": "S256"})

    def finish(self, callback):
        """Handles the return of the browser, and begins a session for the person who signed in."""
        fields = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(callback).query))
        nonce, verifier = self.pending.pop(fields["state"])
        if "error" in fields:
            raise Refused(fields["error"])
        answer = self.http.post(self.discovered("token_endpoint"), timeout=30, data={
            "grant_type": "authorization_code", "code": fields["code"], "redirect_uri": self.callback,
            "client_id": self.client[0], "client_secret": self.client[1], "code_verifier": verifier})
        if answer.status_code != 200:
            raise Refused(answer.json()["error"] if answer.status_code == 400 else answer.status_code)
        claims = self.verified(answer.json()["id_token"])
        if claims["nonce"] != nonce:
            raise Refused("nonce")
        session = secrets.token_urlsafe(32)
        self.sessions[session] = {name: claims[name] for name in ("sub", "email", "name")}
        return session

    def verified(self, token):
        keys = jwt.PyJWKSet.from_dict(self.http.get(self.discovered("jwks_uri"), timeout=30).json())
        try:
            return jwt.decode(
                token, keys[jwt.get_unverified_header(token)["kid"]], algorithms=["RS256"], audience=self.client[0],
                issuer="https://accounts.google.com")
        except jwt.InvalidTokenError as error:
            raise Refused(type(error).__name__) from error
