"""An app and a person who hides her address: it writes, she answers, she switches forwarding off. It knows the relay address alone."""

import base64
import email
import email.policy
import http.server
import json
import os
import queue
import smtplib
import threading
import unittest
from email.message import EmailMessage

from understudy_client import Understudy

WORLD = Understudy.from_environment().default
APP, SENDER, PERSON = "com.example.app", "support@example.com", "grace"


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Notifications(http.server.BaseHTTPRequestHandler):
    """The app's endpoint for notifications of Apple's server."""

    received = queue.Queue()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Notifications.received.put(json.loads(claims(body["payload"])["events"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Mail(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["NOTIFICATIONS_PORT"])), Notifications)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def send(self, sender, envelope_to, message):
        with smtplib.SMTP(os.environ["UNDERSTUDY_SMTP_HOST"], int(os.environ["UNDERSTUDY_SMTP_PORT"])) as client:
            client.send_message(message, sender, [envelope_to])

    def message(self, sender, to, subject, text):
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, to, subject
        message.set_content(text)
        return message

    def test_walk(self):
        # She signs up, and hides her address.
        WORLD.order("apple", "approve", account=PERSON, share_email=False)
        person = claims(WORLD.apple.authorize(APP, scopes=["email"], account=PERSON).identity_token)
        self.assertTrue(person["is_private_email"])
        hidden = person["email"]
        self.assertTrue(hidden.endswith("@privaterelay.appleid.com"), hidden)

        # The app writes to her, and she gets it.
        self.send(SENDER, hidden, self.message(f"Example <{SENDER}>", hidden, "Welcome", "Hello! How are you?\n"))
        [welcome] = WORLD.mail(to=hidden, subject="Welcome", wait="10s")
        own = welcome.relay["forwardedTo"]
        self.assertNotIn(own, (hidden, None))
        hers = email.message_from_bytes(welcome.raw(forwarded=True), policy=email.policy.default)
        answer_to = hers["From"].addresses[0].addr_spec
        self.assertTrue(answer_to.endswith("@privaterelay.appleid.com"), hers["From"])
        self.assertEqual(hers.get_content().splitlines(), ["Hello! How are you?"])

        # She answers. The app gets it from the hidden address, and doesn't learn hers.
        self.send(own, answer_to, self.message(own, answer_to, "Re: Welcome", "Fine, thanks\n"))
        [answer] = WORLD.mail(to=SENDER, subject="Re: Welcome", wait="10s")
        raw = answer.raw(forwarded=True)
        got = email.message_from_bytes(raw, policy=email.policy.default)
        self.assertEqual(got["From"].addresses[0].addr_spec, hidden)
        self.assertEqual(got.get_content().splitlines(), ["Fine, thanks"])
        self.assertNotIn(own.encode(), raw)

        # She switches forwarding off, and Apple tells the app.
        WORLD.apple.notify("email-disabled", account=PERSON, client=APP)
        told = Notifications.received.get(timeout=60)
        self.assertEqual((told["type"], told["sub"], told["email"]), ("email-disabled", person["sub"], hidden))

        # The next mail is refused, and the inbox says why.
        with self.assertRaises(smtplib.SMTPException) as refused:
            self.send(SENDER, hidden, self.message(SENDER, hidden, "Are you there?", "Hello?\n"))
        self.assertIn("550", str(refused.exception))

        # She switches it on again.
        WORLD.apple.notify("email-enabled", account=PERSON, client=APP)
        self.assertEqual(Notifications.received.get(timeout=60)["type"], "email-enabled")
        self.send(SENDER, hidden, self.message(SENDER, hidden, "Welcome back", "Hello!\n"))
        [back] = WORLD.mail(to=hidden, subject="Welcome back", wait="10s")
        self.assertEqual(back.relay["forwardedTo"], own)


if __name__ == "__main__":
    unittest.main()
