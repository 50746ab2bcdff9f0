"""Mints and verifies JSON Web Tokens with PyJWT. Standard input is a list of requests, standard output one of answers.

{"claims": {…}, "header": {…}, "key": JWK, "algorithm": "HS256"} is answered by {"token": …}, and {"token": …, "keys": JWK Set,
"algorithms": […], "audience": …, "issuer": …, "requires": […], "lifetime": …} by {"claims": {…}}, or by {"refusal": …}.
"""

import json
import sys

import jwt


def mint(request):
    key = jwt.PyJWK(request["key"], request["algorithm"]).key
    return {"token": jwt.encode(request["claims"], key, request["algorithm"], request.get("header"))}


def candidates(token, keys):
    """Returns the keys that may have signed a token: the one that it names, or all keys if it names none."""
    header = jwt.get_unverified_header(token)
    return [key for key in keys if header.get("kid") in (None, key.get("kid"))]


def verify(request):
    options = {name: request.get("lifetime", True) for name in ("verify_exp", "verify_iat", "verify_nbf")}
    options |= {"verify_aud": "audience" in request, "require": request.get("requires", [])}
    checks = {name: request[name] for name in ("audience", "issuer") if name in request}
    refusal = "UnknownKey: the key set has no such key"
    try:
        for key in candidates(request["token"], request["keys"].get("keys", [])):
            try:
                claims = jwt.decode(
                    request["token"], jwt.PyJWK(key).key, algorithms=request["algorithms"], options=options, **checks)
                return {"claims": claims}
            except jwt.PyJWTError as error:
                refusal = f"{type(error).__name__}: {error}"
    except jwt.PyJWTError as error:
        refusal = f"{type(error).__name__}: {error}"
    return {"refusal": refusal}


json.dump([verify(request) if "keys" in request else mint(request) for request in json.load(sys.stdin)], sys.stdout)
