"""A call of each operation that is answered with 2xx, in an order in which each finds what it needs.

Generated calls hardly ever name somebody or something that there is."""
ROOT = "/_understudy/v1/"
APP, WEB = "com.example.app", "com.example.web"
MAIL = {"from": "shop@example.com", "to": ["ada@example.com"], "subject": "Sign in", "text": "Your code: 123456"}


def calls(ask):
    """Yields each operation with its parameters of path and query and its body. `ask` sends a request, and returns the
    answer."""
    def call(method, path, parameters=None, query=None, body=None):
        return f"{method} {ROOT}{path}", parameters or {}, query or {}, body

    yield call("GET", "")
    yield call("GET", "openapi.json")
    yield call("GET", "health")
    yield call("POST", "reset")
    for query in ({}, {"limit": 1}, {"after": "ada", "limit": 1000}):
        yield call("GET", "accounts", query=query)
    yield call("POST", "accounts", body={"id": "max", "name": {"given": "Max"}, "github": {"login": "max"}})
    yield call("GET", "accounts/{id}", {"id": "max"})
    yield call("PATCH", "accounts/{id}", {"id": "max"}, body={"name": {"family": None}, "phoneNumber": "+15555550199"})
    yield call("DELETE", "accounts/{id}", {"id": "max"})
    for body in ({"set": "2030-01-01T00:00:00.250Z", "freeze": True}, {"advance": "6m"}, {}):
        yield call("POST", "clock", body=body) if body else call("GET", "clock")

    fault = {"match": {"host": "api.github.com"}, "times": None, "probability": 0.5, "effect": {"status": 503, "body": {"a": 1}}}
    yield call("POST", "faults", body=fault)
    yield call("POST", "faults", body={"match": {"smtp": "MESSAGE", "to": "x@*"}, "effect": {"lose": True}})
    yield call("GET", "faults")
    yield call("DELETE", "faults/{id}", {"id": "fault-1"})
    yield call("DELETE", "faults")
    yield call("GET", "endpoints")
    outcome = {"provider": "apple", "outcome": "approve", "account": "grace", "name": {"given": "G"}, "scopes": ["email"]}
    yield call("POST", "outcomes", body=outcome)
    yield call("GET", "outcomes")
    yield call("DELETE", "outcomes/{id}", {"id": "outcome-1"})
    yield call("DELETE", "outcomes")
    yield call("GET", "scenarios")
    for name in [one["name"] for one in ask("GET", "scenarios").json()["scenarios"]]:
        yield call("GET", "scenarios/{name}", {"name": name})
    for path in ("GET", "POST", "DELETE"):
        yield call(path, "scenarios/{name}", {"name": "provider-outage"})
    yield call("POST", "worlds", body={"name": "example", "listen": 0})
    yield call("GET", "worlds")
    yield call("POST", "worlds/{name}/reset", {"name": "example"})
    yield call("DELETE", "worlds/{name}", {"name": "example"})

    # These are two sign-ins, of which the first brings name and address. The calls below use their results.
    order = {"client": APP, "account": "ada", "scopes": ["fullName", "email"], "nonce": "n", "state": "s"}
    yield call("POST", "apple/authorizations", body=order)
    user = ask("POST", "apple/authorizations", order).json()["user"]
    hidden = {"client": APP, "account": "grace", "scopes": ["email"]}
    ask("POST", "outcomes", {"provider": "apple", "outcome": "approve", "account": "grace", "shareEmail": False})
    address = ask("POST", "apple/authorizations", hidden).json()["email"]
    yield call("GET", "apple/credential-state", query={"client": APP, "user": user})
    yield call("GET", "apple/relay", query={"from": "shop@example.com", "to": address})
    yield call("POST", "apple/notifications", body={"type": "email-disabled", "account": "grace", "client": APP})
    yield call("POST", "apple/keys/rotate")
    yield call("POST", "apple/revocations", body={"account": "ada", "client": APP})
    google = {"client": "example.apps.googleusercontent.com", "account": "ada"}
    yield call("POST", "google/authorizations", body=google)
    yield call("POST", "google/security-events", body={"type": "account-disabled", "reason": "hijacking", **google})
    token = ask("POST", "google/authorizations", google).json()["accessToken"]
    yield call("POST", "tokens/revocations", body={"token": token})
    yield call("POST", "google/revocations", body={"account": "ada", "client": google["client"]})
    for tracking in ("enabled", "limited"):
        yield call("POST", "facebook/authorizations", body={"client": "1234567890", "account": "ada", "tracking": tracking})
    for name in ("facebook", "github", "microsoft", "openid"):
        yield call("POST", f"{name}/revocations", body={"account": "*", "client": "*"})
    yield call("POST", "github/logouts", body={"account": "ada"})
    yield call("POST", "openid/logouts", body={"issuer": "corp", "account": "ada"})
    wanted = {"provider": "apple", "client": WEB, "account": "ada", "claims": {"exp": "-1h"}, "signature": "invalid"}
    yield call("POST", "tokens", body=wanted)
    for provider, client in (("google", google["client"]), ("facebook", "1234567890"), ("openid", "web")):
        yield call("POST", "tokens", body={"provider": provider, "client": client})
    for value in (token, "https://example.com/callback?code=c&state=s", "ada@example.com", "eyJhbGciOiJub25lIn0.e30.", "n"):
        yield call("POST", "explain", body={"value": value, "rawNonce": "n"})
    yield call("GET", "firebase/export")
    registered = ask("POST", "/oidc/corp/register", {"redirect_uris": ["http://localhost:3000/callback"]}).json()
    yield call("GET", "openid/clients")
    yield call("DELETE", "openid/clients/{client}", {"client": registered["client_id"]})
    yield call("DELETE", "openid/clients")

    for query in ({}, {"limit": 2}, {"refused": "true", "status": "4xx"}, {"world": "*"}, {"format": "har"},
                  {"world": "d*", "format": "har"}, {"after": "r1", "wait": "20ms", "count": 1000}):
        yield call("GET", "requests", query=query)
    request = ask("GET", "requests?limit=1").json()["last"]
    for query in ({}, {"refused": "false", "unfinished": "false", "provider": "apple", "client": "com", "text": "a", "all": "true"},
                  {"after": "r1", "limit": 2}, {"wait": "1ms", "count": 1000}):
        yield call("GET", "flows", query=query)
    yield call("GET", "flows/{id}", {"id": request})
    for query in ({}, {"format": "har"}):
        yield call("GET", "requests/{id}", {"id": request}, query)
    for times in ({"atLeast": 1}, {"times": 0}):
        yield call("POST", "verify", body={"path": "/_understudy/v1/apple/authorizations", **times})
    yield call("POST", "verify", body={"expectations": [{"status": "2xx", "atMost": 9}, {"status": 599, "times": 0}]})
    yield call("DELETE", "requests")

    yield call("POST", "mail", body=MAIL)
    yield call("POST", "mail", body=MAIL | {"to": [address], "html": "<p>Hello"})
    ask("POST", "mail", MAIL)
    attached = ask("GET", "mail").json()["last"]
    for query in ({}, {"to": "ada*"}, {"kind": "mail", "limit": 1, "text": "123456"}, {"wait": "20ms", "after": "m999"}):
        yield call("GET", "mail", query=query)
    yield call("GET", "mail/{id}", {"id": attached})
    for query in ({}, {"as": "sent"}):
        yield call("GET", "mail/{id}/raw", {"id": attached}, query)
    yield call("POST", "mail/{id}/replies", {"id": attached}, body={"text": "Thank you"})
    yield call("DELETE", "mail/{id}", {"id": attached})
    yield call("DELETE", "mail")

    seed = ask("GET", "seed").json()
    yield call("GET", "seed")
    yield call("PUT", "seed", body=seed)
    yield call("POST", "seed", body={"accounts": [{"id": "later"}]})
    yield call("GET", "snapshot")
    yield call("PUT", "snapshot", body=ask("GET", "snapshot").json())
    yield call("POST", "reset")
