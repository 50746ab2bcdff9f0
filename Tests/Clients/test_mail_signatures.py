"""Mail signed by dkimpy, code that isn't ours: what the daemon says of it, and that its bytes come through."""

import base64
import json
import os
import smtplib
import subprocess
import tempfile
import unittest

import dkim

from mail_support import MailDaemon


class Signatures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        key = os.path.join(folder.name, "key.pem")
        subprocess.run(["openssl", "genrsa", "-traditional", "-out", key, "2048"], check=True, capture_output=True)
        public = subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True)
        with open(key, "rb") as file:
            cls.key = file.read()
        cls.record = "v=DKIM1; k=rsa; p=" + base64.b64encode(public.stdout).decode()
        seed = os.path.join(folder.name, "seed.json")
        with open(seed, "w") as file:
            json.dump({"mail": {"dkim": [{"domain": "example.com", "selector": "s1", "publicKey": cls.record}]}}, file)
        cls.daemon = MailDaemon("--seed", os.path.join(os.path.dirname(__file__), "../../seed-data/default.json"), "--seed", seed)
        cls.addClassCleanup(cls.daemon.stop)

    def send(self, to, content, change=lambda content: content, selector=b"s1", **options):
        signature = dkim.sign(content, selector, b"example.com", self.key, **options)
        sent = change(signature + content)
        with smtplib.SMTP("localhost", self.daemon.smtp) as client:
            client.sendmail("app@example.com", to, sent, ["BODY=8BITMIME"])
        found = self.daemon.mail(to)
        raw = self.daemon.raw(found)
        self.assertEqual(raw, sent)
        isValid = dkim.verify(raw, dnsfunc=lambda name, **_: self.record.encode() if name.startswith(b"s1.") else None)
        return [result["result"] for result in found["authentication"]], isValid

    content = ("From: App <app@example.com>\r\nTo: x@example.org\r\nSubject: signed,\r\n  folded\r\n\r\n"
               "Grüße  \r\n.\r\n..\r\n\tx \t y\r\n\r\n\r\n").encode()

    def test_signatures_pass(self):
        for number, (header, body) in enumerate((h, b) for h in (b"relaxed", b"simple") for b in (b"relaxed", b"simple")):
            with self.subTest(header=header, body=body):
                results = self.send(f"pass{number}@example.org", self.content, canonicalize=(header, body))
                self.assertEqual(results, (["pass"], True))

    def test_what_was_changed_fails(self):
        for number, change in enumerate((lambda c: c + b"more\r\n", lambda c: c.replace(b"signed,", b"forged,"))):
            results = self.send(f"fail{number}@example.org", self.content, change)
            self.assertEqual(results, (["fail"], False))

    def test_key_that_nobody_seeded(self):
        results, _ = self.send("other@example.org", self.content, selector=b"s2")
        self.assertNotEqual(results, ["pass"])


if __name__ == "__main__":
    unittest.main()
