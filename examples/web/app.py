"""A web app whose people sign in with Apple, GitHub, Google, Facebook and Firebase. Needs nothing but Python and openssl.

usage: app.py [PORT]

The environment names the providers' addresses (see settings.py).
"""

import http.server
import os
import secrets
import sys
import threading
import urllib.parse

import pages
from providers import MISTAKES, PROVIDERS, Refused
from settings import Settings

# The app remembers so many visitors, and then forgets the oldest.
VISITORS = 1000


class Visitors:
    """The app's data about each browser, by the secret that the browser has in a cookie."""

    def __init__(self):
        self.lock, self.known = threading.Lock(), {}

    def get(self, key):
        with self.lock:
            return self.known.get(key)

    def put(self, sign_in):
        key = secrets.token_urlsafe(24)
        with self.lock:
            self.known[key] = sign_in
            if len(self.known) > VISITORS:
                del self.known[next(iter(self.known))]
        return key

    def take(self, key):
        with self.lock:
            return self.known.pop(key, None)


class App(http.server.BaseHTTPRequestHandler):
    # A connection is closed when the browser has sent nothing for so many seconds.
    timeout = 20
    settings = Settings()
    begun, signed_in = Visitors(), Visitors()
    recording = os.environ.get("OUTSIDE_URL") or os.environ.get("UNDERSTUDY_URL")

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/":
            return self.home()
        if url.path == "/callback":
            return self.come_back(dict(urllib.parse.parse_qsl(url.query)))
        self.answer(404, pages.page("Not found", "<h1>There is no such page</h1>"))

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > 65536:
            return self.answer(413, pages.page("Too much", "<h1>That is too much</h1>"))
        fields = dict(urllib.parse.parse_qsl(self.rfile.read(int(length)).decode(errors="replace")))
        # A form on another site's page must not begin a sign-in here.
        if self.path != "/callback" and self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return self.answer(403, pages.page("Not from here", "<h1>That form is another site's</h1>"))
        if self.path == "/begin" and fields.get("provider") in PROVIDERS:
            return self.begin(PROVIDERS[fields["provider"]], fields.get("mistake"))
        # Apple posts its answer.
        if self.path == "/callback":
            return self.come_back(fields)
        if self.path == "/leave":
            self.signed_in.take(self.cookie("session"))
            return self.redirect("/")
        self.answer(404, pages.page("Not found", "<h1>There is no such page</h1>"))

    def home(self):
        sign_in = self.signed_in.get(self.cookie("session"))
        self.answer(200, pages.signed_in(sign_in, self.recording) if sign_in else pages.home(self.recording))

    def begin(self, provider, mistake):
        sign_in = provider(self.settings, mistake if mistake in MISTAKES else None)
        try:
            url = sign_in.begin()
        except Refused as problem:
            return self.refuse(provider.title, problem, sign_in)
        key = self.begun.put(sign_in)
        # Apple's page posts the answer from another site, and browsers send no other cookie along with that.
        self.redirect(url, [f"begun={key}; HttpOnly; SameSite=Lax", f"begun-apple={key}; HttpOnly; SameSite=None; Secure"])

    def come_back(self, fields):
        sign_in = self.begun.take(self.cookie("begun") or self.cookie("begun-apple"))
        if not sign_in:
            return self.refuse("Nobody", Refused("this browser hasn't begun to sign in, or has come back already"))
        try:
            sign_in.finish(fields)
        except Refused as problem:
            return self.refuse(sign_in.title, problem, sign_in)
        key = self.signed_in.put(sign_in)
        self.redirect("/", [f"session={key}; HttpOnly; SameSite=Lax"])

    def refuse(self, title, problem, sign_in=None):
        self.answer(403, pages.refused(title, problem, sign_in, self.recording))

    def cookie(self, name):
        # Browsers also send the cookies of other apps on localhost, with any contents.
        pairs = (pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), None)

    def redirect(self, url, cookies=()):
        self.send_response(303)
        self.send_header("Location", url)
        for cookie in cookies:
            self.send_header("Set-Cookie", f"{cookie}; Path=/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, page):
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        # These pages show tokens, so nobody may store them.
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    host = os.environ.get("LISTEN", "127.0.0.1")
    try:
        server = http.server.ThreadingHTTPServer((host, port), App)
    except OSError as error:
        sys.exit(f"The example can't have port {port}: {error.strerror}")
    with server:
        print(f"The example is at http://localhost:{server.server_port}", flush=True)
        if App.recording:
            print(f"What the daemon sees: {App.recording}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
