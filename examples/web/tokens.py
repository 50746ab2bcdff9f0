"""The parts of JSON Web Tokens that a sign-in needs. A real app uses a library. Here you can read every step."""

import base64
import hashlib
import hmac
import json
import secrets
import subprocess
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def decoded(token):
    """Returns the header and the claims, without verifying the signature."""
    header, claims, _ = token.split(".")
    return json.loads(from_base64url(header)), json.loads(from_base64url(claims))


class Untrusted(Exception):
    """An error that says why a token can't be trusted."""


def verify(token, keys, **expected):
    """Returns the claims of an ID token if a key of `keys` (a JWK set) signed it, it hasn't expired, and it is as
    expected.

    https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
    """
    header, claims = decoded(token)
    if header.get("alg") != "RS256":
        raise Untrusted(f"it is signed with {header.get('alg')}, not RS256")
    key = next((key for key in keys["keys"] if key["kid"] == header.get("kid")), None)
    if not key:
        raise Untrusted(f"no published key is called {header.get('kid')}")
    signed, _, signature = token.rpartition(".")
    if not is_signature(from_base64url(signature), signed.encode(), key):
        raise Untrusted("the signature isn't by the key that it names")
    for name, value in expected.items():
        if claims.get(name) != value:
            raise Untrusted(f"{name} is {claims.get(name)!r}, not {value!r}")
    if claims["exp"] < time.time():
        raise Untrusted("it has expired")
    return claims


def is_signature(signature, message, key):
    """Verifies RSASSA-PKCS1-v1_5 with SHA-256: https://www.rfc-editor.org/rfc/rfc8017#section-8.2.2"""
    modulus, exponent = (int.from_bytes(from_base64url(key[name]), "big") for name in ("n", "e"))
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
    wanted = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(number, exponent, modulus).to_bytes(size, "big"), wanted)


def apple_client_secret(team, key_id, key_file, client):
    """Makes Apple's client secret, which is a JWT that the team's key signs with ES256.

    https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
    """
    now = int(time.time())
    parts = [
        {"alg": "ES256", "kid": key_id},
        {"iss": team, "iat": now, "exp": now + 300, "aud": "https://appleid.apple.com", "sub": client}]
    message = ".".join(base64url(json.dumps(part).encode()) for part in parts)
    der = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key_file], input=message.encode(), capture_output=True, check=True).stdout
    # openssl writes a sequence of two integers. A JWT has both integers with 32 bytes each.
    first = der[4:4 + der[3]]
    second = der[6 + der[3]:]
    return f"{message}.{base64url(b''.join(number.lstrip(bytes(1)).rjust(32, bytes(1)) for number in (first, second)))}"


def code_verifier():
    """Makes the secret of a sign-in, and its hash for the authorization request (RFC 7636)."""
    verifier = secrets.token_urlsafe(32)
    return verifier, base64url(hashlib.sha256(verifier.encode()).digest())
