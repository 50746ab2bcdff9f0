"""Makes the pictures of docs/inspector, by `make screenshots`. This isn't a test."""

import base64
import hashlib
import json
import os
import subprocess
import unittest
import urllib.parse

from inspector import SIZES, InspectorTestCase
from support import BINARY, SHOTS

APPLE = {"client_id": "com.example.web.auto", "redirect_uri": "https://example.com/callback", "state": "af0ifjsldkj"}


class Screenshots(InspectorTestCase):
    @classmethod
    def seed_text(cls):
        return {"randomSeed": "screenshots"}

    def json(self, path, body, method=None):
        status, answer = self.ask(
            path, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}, method=method)
        return json.loads(answer or b"{}")

    def post(self, path, fields, headers={}):
        return self.ask(path, data=urllib.parse.urlencode(fields).encode(), headers=headers)

    def code(self, path, fields):
        """Returns the code in a redirect, without following it."""
        url = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{redirect_url}", f"{self.origin}/{path}?{urllib.parse.urlencode(fields)}"],
            capture_output=True, text=True, check=True).stdout
        parts = urllib.parse.urlsplit(url)
        return dict(urllib.parse.parse_qsl(parts.query or parts.fragment)).get("code", "")

    def secret(self, client):
        seed = os.path.join(os.path.dirname(__file__), "../../seed-data/default.json")
        return subprocess.run(
            [BINARY, "client-secret", "--seed", seed, client], capture_output=True, text=True, check=True).stdout.strip()

    def firebase(self, token, nonce, provider="apple.com"):
        body = urllib.parse.urlencode({"id_token": token, "nonce": nonce, "providerId": provider})
        return self.json(
            "identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            {"postBody": body, "requestUri": "http://localhost", "returnSecureToken": True})

    def play(self):
        """Plays successful sign-ins, and some of the most common failures."""
        nonce = hashlib.sha256(b"raw-nonce").hexdigest()
        native = {"client": "com.example.app", "scopes": ["fullName", "email"], "account": "ada"}
        good = self.json("_understudy/v1/apple/authorizations", native | {"nonce": nonce})
        self.firebase(good["identityToken"], "raw-nonce")
        for account in ["ada", "linus"]:
            self.control("outcomes", {"provider": "github", "outcome": "approve", "account": account})
            github = {"client_id": "Iv1.0123456789abcdef", "redirect_uri": "http://localhost:3000/callback", "state": "x"}
            code = self.code("github.com/login/oauth/authorize", github | {"scope": "user:email"})
            status, answer = self.post(
                "github.com/login/oauth/access_token",
                {"client_id": github["client_id"], "client_secret": "github-secret-for-tests", "code": code},
                {"Accept": "application/json"})
            token = json.loads(answer).get("access_token")
            for path in ["user", "user/emails"] if token else []:
                self.ask(f"api.github.com/{path}", headers={"Authorization": f"Bearer {token}", "User-Agent": "Example"})
        self.control("outcomes", {"provider": "google", "outcome": "cancel"})
        self.code("accounts.google.com/o/oauth2/v2/auth", {
            "client_id": "example.apps.googleusercontent.com", "redirect_uri": "http://localhost:3000/callback",
            "response_type": "code", "scope": "openid email", "state": "x"})
        code = self.code("appleid.apple.com/auth/authorize", APPLE | {"response_type": "code"})
        form = {"grant_type": "authorization_code", "code": code, "client_id": APPLE["client_id"],
                "client_secret": self.secret(APPLE["client_id"]), "redirect_uri": APPLE["redirect_uri"]}
        self.post("appleid.apple.com/auth/token", form)
        self.twice = self.post("appleid.apple.com/auth/token", form)
        raw = self.json("_understudy/v1/apple/authorizations", native | {"nonce": "raw-nonce"})
        self.firebase(raw["identityToken"], "raw-nonce")
        self.json("identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
                  {"email": "ada@example.com", "password": "analytical", "returnSecureToken": True})
        for kind in ["PASSWORD_RESET", "EMAIL_SIGNIN"]:
            self.json("identitytoolkit.googleapis.com/v1/accounts:sendOobCode?key=demo-api-key",
                      {"requestType": kind, "email": "ada@example.com", "continueUrl": "http://localhost:3000/"})
        self.control("faults", {"match": {"host": "appleid.apple.com", "path": "/auth/token"}, "times": 2,
                                "effect": {"error": "invalid_grant"}})
        self.control("outcomes", {"provider": "apple", "outcome": "cancel"})
        self.control("scenarios/slow-provider")

    def take(self, driver, path, name):
        for width, height, size in SIZES:
            self.size(driver, width, height)
            driver.get(self.page(path))
            # The pictures are small WebP files, because a repository keeps every picture that it ever had.
            picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 75})
            with open(os.path.join(SHOTS, f"{name}-{size}.webp"), "wb") as file:
                file.write(base64.b64decode(picture["data"]))

    def test_take(self):
        self.assertTrue(SHOTS, "name the folder")
        self.play()
        recorded = json.loads(self.ask("_understudy/v1/requests")[1])["requests"]
        refused = next(r for r in recorded if "raw nonce" in r.get("diagnosis", ""))
        native = next(r for r in recorded if r["path"].endswith("signInWithIdp") and r["status"] == 200)
        driver = self.browser()
        pages = {
            "": "sign-ins", f"flows/{native['flow']}": "sign-in", f"flows/{refused['flow']}": "refusal",
            f"requests/{refused['id']}": "exchange", "people": "people", "people/ada": "person", "users": "users",
            "inbox": "inbox", "orders": "orders", "orders/scenarios": "scenarios", "clock": "clock", "worlds": "worlds",
            "orders/fault?provider=apple&endpoint=POST+appleid.apple.com/auth/token": "fault", "setup": "set-up",
            "explain": "explain",
        }
        for path, name in pages.items():
            self.take(driver, path, name)


if __name__ == "__main__":
    unittest.main()
