"""Checks that hold for the answer to every request."""
import json

REFUSAL_LIMIT = 16384


class Finding(Exception):
    pass


def check(answer, is_head=False, may_be_malformed=False):
    """Returns what is wrong with the answer, or `None`. `may_be_malformed` says that a fault may break JSON."""
    head = answer.head.lower()
    diagnoses = answer.values(b"understudy-diagnosis")
    is_ordered = any(text.startswith("ordered fault") for text in diagnoses)
    if head.count(b"\r\nunderstudy-request:") != 1:
        return f"{head.count(b'understudy-request:')} headers Understudy-Request"
    if is_ordered:
        return None
    if len(diagnoses) > 1:
        return "two diagnoses"
    # The official emulator answers 501 at endpoints that it doesn't implement, and so does Understudy.
    if answer.status >= 500 and answer.status != 501:
        return "a status that nobody ordered"
    if answer.status >= 400:
        if not diagnoses:
            return "a refusal without a diagnosis"
        if len(answer.body) > REFUSAL_LIMIT:
            return f"a refusal of {len(answer.body)} bytes"
    if answer.body and not is_head and not may_be_malformed:
        kind = (answer.header(b"content-type") or "").split(";")[0].strip().lower()
        if kind == "application/json" or kind.endswith("+json"):
            try:
                json.loads(answer.body)
            except (ValueError, RecursionError):
                return "JSON that can't be parsed"
        elif kind == "text/html" and b"<fuzz" in answer.body:
            return "markup from outside"
    return None


class SingleUses:
    """Codes that work once, and those that did."""

    # For each endpoint that redeems codes, this is the end of its path, and the field with the code.
    PLACES = [
        ("/auth/token", "code"), ("/login/oauth/access_token", "code"), ("/login/oauth/access_token", "device_code"),
        ("/token", "code"), ("/oauth/access_token", "code"), ("accounts:resetPassword", "oobCode"),
        ("accounts:signInWithEmailLink", "oobCode"), ("accounts:signInWithPhoneNumber", "sessionInfo"),
    ]

    def __init__(self):
        self.redeemed = set()

    def forget(self, world):
        self.redeemed = {use for use in self.redeemed if use[0] != world}

    def check(self, call, answer):
        if answer.status != 200 or answer.header(b"understudy-diagnosis"):
            return None
        path = call.path
        for end, field in self.PLACES:
            if not path.endswith(end):
                continue
            code = call.fields.get(field)
            if not isinstance(code, str) or not code or not self._worked(call, answer):
                continue
            use = (call.world, call.host, end, code)
            if use in self.redeemed:
                return f"{field} {code[:80]} was redeemed twice"
            self.redeemed.add(use)
        return None

    @staticmethod
    def _worked(call, answer):
        if call.path.endswith("resetPassword"):
            return bool(call.fields.get("newPassword"))
        if call.path.endswith("signInWithPhoneNumber"):
            # A seeded test number's session may be used again.
            return False
        body = answer.body
        return (b"access_token" in body or b'"idToken"' in body) and b'"error"' not in body and b"error=" not in body
