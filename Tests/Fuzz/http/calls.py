"""Requests as values, so that they can be sent, kept and changed."""
import json
from urllib.parse import quote

CONTROL = "/_understudy/v1"


def encode(fields):
    return "&".join(f"{quote(str(name), safe='', errors='surrogatepass')}={quote(text(value), safe='', errors='surrogatepass')}" for name, value in fields.items())


def text(value):
    return value if isinstance(value, str) else json.dumps(value)


class Call:
    """One request. `kind` says how the fields travel: `query`, `form` or `json`."""

    __slots__ = ("method", "host", "path", "kind", "fields", "headers", "world", "raw_body", "real_host")

    def __init__(self, method, host, path, kind="query", fields=None, headers=None, world=""):
        self.method, self.host, self.path, self.kind = method, host, path, kind
        self.fields, self.headers, self.world = dict(fields or {}), dict(headers or {}), world
        self.raw_body, self.real_host = None, False

    def copy(self):
        other = Call(self.method, self.host, self.path, self.kind, self.fields, self.headers, self.world)
        other.raw_body, other.real_host = self.raw_body, self.real_host
        return other

    def bytes(self):
        target = f"/~{self.world}" if self.world else ""
        if self.host and not self.real_host:
            target += f"/{self.host}"
        target += self.path
        host = self.host if self.real_host and self.host else "localhost:9099"
        lines, body = [], self.raw_body
        if self.kind == "query":
            if self.fields:
                target += ("&" if "?" in target else "?") + encode(self.fields)
        elif self.kind == "form":
            lines.append("Content-Type: application/x-www-form-urlencoded")
            body = encode(self.fields).encode() if body is None else body
        else:
            lines.append("Content-Type: application/json")
            body = json.dumps(self.fields).encode("utf-8", "surrogatepass") if body is None else body
        if body is not None or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body or b'')}")
        if "User-Agent" not in self.headers:
            # GitHub refuses requests without a User-Agent header.
            lines.append("User-Agent: fuzz")
        for name, value in self.headers.items():
            lines.append(f"{name}: {value}")
        head = f"{self.method} {target} HTTP/1.1\r\nHost: {host}\r\n" + "\r\n".join(lines) + ("\r\n" if lines else "") + "\r\n"
        return head.encode("utf-8", "surrogatepass") + (body or b"")


def control(method, path, body=None, world=""):
    return Call(method, "", f"{CONTROL}/{path}", "json" if body is not None else "query", body, world=world)
