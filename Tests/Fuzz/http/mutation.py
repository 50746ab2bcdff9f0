"""Changes calls: values, types, fields, methods, encodings. Everything follows from a random.Random."""
import base64
import json

from calls import CONTROL
from people import unsigned

NUMBERS = [
    -2**63, -2**63 + 1, 2**63 - 1, 2**63 - 2, 2**63, -2**63 - 1, 0, 1, -1, 2**31, 2**31 - 1, 2**32, 2**53, 2**53 + 1, 10**30,
    1e308, -1e308, 1e-308, 0.5, -0.0, 253402300799, 253402300800, 2**62, -2**62, 100_000_000_000, 100_000_000_001]
TEXTS = [
    "", " ", "\0", "\r\nX-Fuzz: 1", "\u202e", "\ud800", "é" * 40, "\"><fuzz a='", "a" * 300, "a" * 5000, "../../etc/passwd", "%00",
    "%", "null", "[]", "{}", "*", "-9223372036854775808", "9223372036854775807", "-9223372036854775808ms",
    "9223372036854775807d", "365250d", "-365250d", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z", "javascript:alert(1)//", "https://evil.example/?", "https://example.com@evil.example/",
    "https://example.com\\@evil.example/", "//evil.example", "http://[::1", "http://a:99999/", "com.example.web", "demo-app",
    "ada", "none", "consent login select_account", "a b c d", "1e999", "٣", "true", "eyJhbGciOiJub25lIn0.e30.", "..", "a.b.c"]
FIELDS = [
    "client_id", "client_secret", "code", "grant_type", "redirect_uri", "refresh_token", "id_token", "scope", "state", "nonce",
    "response_type", "response_mode", "code_challenge", "code_verifier", "prompt", "max_age", "login_hint", "idToken", "email",
    "password", "localId", "oobCode", "phoneNumber", "postBody", "tenantId", "validSince", "customAttributes", "maxResults",
    "limit", "per_page", "page", "wait", "count", "after", "status", "advance", "set", "times", "probability", "effect", "match"]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "X"]
HEADERS = [
    ("Accept", "application/json"), ("Accept", "text/html"), ("Accept", "application/xml;q=0.5"), ("Origin", "null"),
    ("Origin", "https://evil.example"), ("Authorization", "Bearer owner"), ("Authorization", "Basic "),
    ("Authorization", "Bearer " + "a" * 3000), ("Cookie", "understudy_github_session=" + "0" * 32), ("Cookie", ";=;="),
    ("If-None-Match", "*"), ("X-GitHub-Api-Version", "1"), ("User-Agent", ""), ("Accept-Language", "x" * 500),
    ("Sec-Fetch-Site", "cross-site"), ("X-Forwarded-Host", "evil.example"), ("Last-Event-ID", "r99999999999999999999")]
TIMES = ["exp", "iat", "auth_time", "nbf"]


def token(random, pool):
    """Returns a changed JSON Web Token."""
    kept = [value for values in pool.values() for value in values if value.count(".") == 2 and value.startswith("ey")]
    if not kept:
        return "a.b.c"
    header, payload, signature = random.choice(kept).split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return header + "." + payload
    if not isinstance(claims, dict):
        return header + "." + payload + "."
    for _ in range(random.randrange(1, 3)):
        name = random.choice(TIMES + list(claims))
        claims[name] = random.choice(NUMBERS + TEXTS + [None, [], {}, ["a"]])
    changed = unsigned(claims)
    return changed if random.random() < 0.7 else header + "." + changed.split(".")[1] + "." + signature


def value(random, pool, odd):
    kind = random.random()
    if kind < 0.3:
        return random.choice(NUMBERS)
    if kind < 0.5:
        return random.choice(TEXTS)
    if kind < 0.65 and odd:
        return random.choice(odd)
    if kind < 0.85 and pool:
        return random.choice(pool[random.choice(list(pool))])
    if kind < 0.93:
        return token(random, pool)
    return random.choice([None, True, False, [], {}, ["a", "b"], {"a": {"b": []}}, [[[[1]]]]])


def without_waiting(call):
    """Makes long delays and waits short, since waiting finds nothing."""
    if call.kind == "json" and isinstance(call.fields.get("effect"), dict) and "delay" in call.fields["effect"]:
        effect = dict(call.fields["effect"])
        if isinstance(effect["delay"], str) and not effect["delay"].startswith("-") and len(effect["delay"]) < 15:
            effect["delay"] = "2ms"
        call.fields["effect"] = effect
    if "wait" in call.fields and str(call.fields["wait"])[:1] != "-":
        call.fields["wait"] = "2ms"
    return call


def change(call, random, pool, odd):
    """Returns a copy of `call` with something wrong in it."""
    call = call.copy()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        kind = random.randrange(20)
        names = list(call.fields)
        if kind < 8 and names:
            call.fields[random.choice(names)] = value(random, pool, odd)
        elif kind == 8 and names:
            del call.fields[random.choice(names)]
        elif kind == 9:
            call.fields[random.choice(FIELDS)] = value(random, pool, odd)
        elif kind == 10:
            call.method = random.choice(METHODS)
        elif kind == 11:
            call.kind = random.choice(("query", "form", "json"))
        elif kind == 12:
            name, text = random.choice(HEADERS)
            call.headers[name] = text
        elif kind == 13:
            call.real_host = not call.real_host
        elif kind == 14 and names:
            name = random.choice(names)
            if isinstance(call.fields[name], str):
                text = call.fields[name]
                place = random.randrange(len(text) + 1)
                call.fields[name] = random.choice((text[:place], text[place:], text + text, text[:place] + "\0" + text[place:], text.upper()))
        elif kind == 15:
            body = call.bytes().split(b"\r\n\r\n", 1)[1]
            place = random.randrange(len(body) + 1)
            call.raw_body = random.choice((
                body[:place], body[:place] + b"\xff\xfe" + body[place:], body + b"%", body * 2, b"", b"{" * 70, b"[" * 3000,
                b"\x00" * 20, body[:place] + b"&&==&" + body[place:]))
            call.kind = "form" if call.kind == "query" else call.kind
        elif kind == 16 and random.random() < 0.02:
            call.raw_body = huge(random)
            call.kind = "json" if call.raw_body[:1] in b"{[" else "form"
        elif kind == 17:
            name = random.choice(list(pool)) if pool else "code"
            if pool:
                call.fields[name] = random.choice(pool[name])
        elif kind == 18:
            segments = call.path.split("/")
            segments[random.randrange(len(segments))] = random.choice(
                ("", "..", "%2e%2e", "*", "x" * 200, "%00", "%", "ada", "demo-app", "me", "~", "\x7f".encode().hex()))
            call.path = "/".join(segments) or "/"
        elif kind == 19 and "bearer" in call.headers.get("Authorization", "").lower() and pool:
            call.headers["Authorization"] = "Bearer " + str(random.choice(pool[random.choice(list(pool))])).replace("\n", "").replace("\r", "")
    call.path = call.path.replace(" ", "%20")
    if not call.path.startswith("/"):
        call.path = "/" + call.path
    return without_waiting(call)


def huge(random):
    """Returns a body near the size limit that has many parts."""
    count = random.choice((1000, 1001, 20_000, 60_000))
    return random.choice((
        lambda: b"&".join(b"f%d=1" % number for number in range(count)),
        lambda: b"{" + b",".join(b'"k%d":1' % number for number in range(count)) + b"}",
        lambda: b"[" + b",".join(b"%d" % number for number in range(count)) + b"]",
        lambda: b'{"localId":[' + b",".join(b'"u%d"' % number for number in range(count)) + b"]}",
        lambda: b'{"email":"' + b"a" * (count * 10) + b'@example.org","password":"correct horse"}',
        lambda: b'{"query":"' + b"{a" * min(count, 20_000) + b'"}',
        lambda: b"client_id=" + b"%41" * count,
        lambda: b"a" * 1_048_577,
        lambda: b'{"a":"' + b"\\u0041" * count + b'"}',
    ))()[: 1 << 20]


def control_calls(random, endpoints):
    """Makes orders as tests have them: faults that fit an endpoint, outcomes, times and scenarios."""
    endpoint = random.choice(endpoints)
    effect = random.choice((
        {"status": random.choice((200, 299, 404, 503, 599)), "headers": {"X-A": random.choice(TEXTS)}, "body": random.choice(("x", {"a": 1}))},
        {"delay": random.choice(TEXTS + ["5ms"])}, {"disconnect": True}, {"disconnect": "midBody"}, {"malformedJSON": True},
        {"error": random.choice(endpoint.get("errors") or ["server_error"])}, {"rotateKeys": "drop"}, {"rotateKeys": True},
        {"jwks": "empty"}, {"state": "wrong"}, {"code": "used"},
        {"token": {"claims": {random.choice(TIMES + ["aud", "sub"]): random.choice(NUMBERS + TEXTS)},
                   "signature": random.choice(("valid", "invalid", "none", "unknownKey", "wrongAlgorithm"))}}))
    match = {"path": endpoint["path"]} | ({"host": endpoint["host"]} if endpoint.get("host") else {})
    return random.choice((
        ("POST", "faults", {"match": match, "times": random.choice((1, 2, 5)), "effect": effect}),
        ("POST", "faults", {"effect": effect, "times": 1, "probability": random.random()}),
        ("POST", "outcomes", {"provider": random.choice(("apple", "github", "google", "facebook")),
                              "outcome": random.choice(("approve", "cancel")), "account": random.choice(("ada", "grace", "nobody"))}),
        ("POST", "clock", {"advance": random.choice(("1m", "1h", "-1h", "1d", "0s"))}),
        ("POST", "clock", {random.choice(("advance", "set")): random.choice(TEXTS)}),
        ("POST", "clock", {"freeze": random.choice((True, False))}), ("POST", "clock", {"reset": True}),
        ("DELETE", "faults", None), ("DELETE", "outcomes", None), ("GET", "faults", None), ("GET", "requests?limit=5", None),
        ("GET", "requests?format=har&limit=5", None), ("DELETE", "requests", None), ("POST", "reset", None),
        ("GET", "worlds", None), ("GET", "accounts", None), ("GET", "endpoints", None), ("GET", "scenarios", None),
        ("POST", "verify", {"path": "/auth/token", "times": 1}),
        ("POST", "scenarios/" + random.choice(("replayed-code", "rotated-keys", "second-factor", "provider-outage", "clock-ahead",
                                              "hidden-email-off", "revoked-grant", "cancelled-sign-in")), {}),
        ("POST", "accounts", {"id": random.choice(TEXTS + ["x", "y"]), "email": "x@example.org"}),
        ("PATCH", "accounts/ada", {"email": random.choice(TEXTS), "phoneNumber": None}), ("DELETE", "accounts/linus", None)))


RAW = [
    b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\x00\x01\x02\x03\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"GET \x00 HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 3000 + b"\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"GET http://appleid.apple.com/auth/keys HTTP/1.1\r\nHost: x\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"]
