"""aiosmtpd as the server behind --smtp-forward: down at first, reluctant, refusing, cutting connections."""

import json
import smtplib
import unittest
import urllib.request

from mail_support import MailDaemon, Sink, free_port, wait


class Forwarding(unittest.TestCase):
    def start(self, answers=(), isServing=True, login=""):
        port = free_port()
        self.sink = Sink(port, answers) if isServing else None
        if self.sink:
            self.addCleanup(self.sink.stop)
        self.daemon = MailDaemon("--smtp-forward", f"{login}127.0.0.1:{port}")
        self.addCleanup(lambda: self.daemon.process.poll() is None and self.daemon.stop())
        return port

    def send(self, content=b"Subject: x\r\n\r\nx\r\n", to="ada@example.org", sender="app@example.com"):
        with smtplib.SMTP("localhost", self.daemon.smtp) as client:
            options = ["SMTPUTF8", "BODY=8BITMIME"] if any(byte > 127 for byte in content) else []
            client.sendmail(sender, to, content, options)

    def status(self):
        return self.daemon.health()["mail"]

    def forwarded(self, count):
        return wait(f"{count} mails handed on", lambda: self.status()["forwarded"] == count)

    def test_bytes_come_through_unchanged(self):
        self.start()
        content = "Subject: Grüße\r\n\r\n.\r\n..dots\r\n\0ÿ\r\n".encode() + b"0123456789\r\n" * 800_000
        self.send(content, ["ada@example.org", "grace@example.org"])
        self.forwarded(1)
        (sender, recipients, received), = self.sink.mails
        self.assertEqual((sender, recipients), ("app@example.com", ["ada@example.org", "grace@example.org"]))
        trace, rest = received[:-len(content)], received[-len(content):]
        self.assertRegex(trace.decode(), r"\AReceived: by localhost \(Understudy\) with SMTP id m1\.[0-9a-f]{16};\r\n\t[^\r\n]+\r\n\Z")
        self.assertEqual(rest, content)

    def test_server_that_is_down_at_first(self):
        port = self.start(isServing=False)
        for number in range(30):
            self.send(f"Subject: {number}\r\n\r\nx\r\n".encode())
        status = wait("failure to connect", lambda: "lastError" in self.status() and self.status())
        self.assertEqual((status["queued"], status["forwarded"]), (30, 0))
        self.assertIn("Connection refused", status["lastError"])
        self.assertRegex(status["oldest"], r"\A\d+s\Z")
        sink = Sink(port)
        self.addCleanup(sink.stop)
        self.forwarded(30)
        self.assertEqual(self.status()["queued"], 0)
        subjects = [content.split(b"Subject: ")[1].split(b"\r\n")[0] for _, _, content in sink.mails]
        self.assertEqual(subjects, [str(number).encode() for number in range(30)])

    def test_later_then_taken(self):
        self.start(["451 4.3.0 not now", "421 4.3.2 closing", None])
        self.send()
        self.forwarded(1)
        self.assertEqual((len(self.sink.mails), self.sink.answers), (1, []))

    def test_refused_for_good(self):
        self.start(["554 5.7.1 spam"])
        self.send()
        wait("refusal", lambda: self.status()["failed"] == 1)
        self.send()
        self.forwarded(1)
        self.assertEqual(self.status()["lastError"], "554 5.7.1 spam")
        log = self.daemon.stop()
        self.assertIn("mail m1 to ada@example.org isn't handed on", log)

    def test_what_waits_at_the_end_is_told(self):
        self.start(isServing=False)
        self.send()
        self.send()
        wait("failure to connect", lambda: "lastError" in self.status())
        self.assertRegex(self.daemon.stop(), r"2 mails were never handed on to 127\.0\.0\.1:\d+: can't connect")

    def test_leading_back_here(self):
        """The daemon's own port as the server behind."""
        port = free_port()
        daemon = self.daemon = MailDaemon("--smtp-forward", f"127.0.0.1:{port}", "--smtp-port", str(port))
        self.addCleanup(daemon.stop)
        self.send()
        wait("loop", lambda: self.status()["failed"] == 1)
        self.assertIn("554 5.4.6", self.status()["lastError"])
        self.assertEqual(len(json.loads(daemon.get("mail"))["messages"]), 1)

    def test_mails_of_firebase(self):
        self.start()
        for call, body in (
            ("signUp", {"email": "max@example.org", "password": "correct horse"}),
            ("sendOobCode", {"email": "max@example.org", "requestType": "PASSWORD_RESET"}),
        ):
            url = f"{self.daemon.url}/identitytoolkit.googleapis.com/v1/accounts:{call}?key=demo-api-key"
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())).close()
        self.forwarded(1)
        self.assertEqual(self.sink.mails[0][1], ["max@example.org"])
        self.assertIn(b"Subject: Reset your password", self.sink.mails[0][2])


if __name__ == "__main__":
    unittest.main()
