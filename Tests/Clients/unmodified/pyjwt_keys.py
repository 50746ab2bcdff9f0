"""PyJWT: Apple's key set by its own address, and a token of Apple's."""

import jwt

from control import control

token = control("tokens", provider="apple", client="com.example.app", account="ada", nonce="n")["token"]
keys = jwt.PyJWKClient("https://appleid.apple.com/auth/keys")
claims = jwt.decode(
    token, keys.get_signing_key_from_jwt(token).key, algorithms=["RS256"], audience="com.example.app",
    issuer="https://appleid.apple.com")
assert claims["nonce"] == "n" and claims["email"] == "ada@example.com", claims
broken = control("tokens", provider="apple", client="com.example.app", signature="unknownKey")["token"]
try:
    keys.get_signing_key_from_jwt(broken)
    raise SystemExit("an unknown key was found")
except jwt.PyJWKClientError:
    print("ok")
