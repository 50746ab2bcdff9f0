"""Authlib: Google by discovery, code flow with PKCE, and the ID token."""

import urllib.parse

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt

from control import control

metadata = requests.get("https://accounts.google.com/.well-known/openid-configuration").json()
session = OAuth2Session(
    "example.apps.googleusercontent.com", "google-secret-for-tests", scope="openid email profile",
    redirect_uri="http://localhost:3000/callback", code_challenge_method="S256")
verifier = "v" * 64
address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce="n")
control("outcomes", provider="google", outcome="approve", account="grace")
callback = requests.get(address, allow_redirects=False).headers["Location"]
assert dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(callback).query))["state"] == state
token = session.fetch_token(metadata["token_endpoint"], authorization_response=callback, code_verifier=verifier)
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
claims = jwt.decode(token["id_token"], keys)
claims.validate()
assert claims["email"] == "grace@example.com" and claims["nonce"] == "n", claims
assert session.get(metadata["userinfo_endpoint"]).json()["sub"] == claims["sub"]
print("ok")
