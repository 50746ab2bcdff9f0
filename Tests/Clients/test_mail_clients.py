"""Programs and libraries that send mail, at the daemon's SMTP port."""

import base64
import email
import email.policy
import json
import os
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import textwrap
import unittest
import urllib.request
from email.message import EmailMessage

from mail_support import MailTestCase

PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class PythonClient(MailTestCase):
    def client(self):
        return smtplib.SMTP("localhost", self.daemon.smtp)

    def test_bytes_come_through_unchanged(self):
        body = b"".join(bytes([byte]) for byte in range(256) if byte not in (10, 13)) + b"\r\n.\r\n..\r\n"
        content = b"From: app@example.com\r\nTo: bytes@example.org\r\nSubject: bytes\r\n\r\n" + body + b"x" * 5000 + b"\r\n"
        with self.client() as client:
            self.assertEqual(client.sendmail("app@example.com", ["bytes@example.org"], content, ["BODY=8BITMIME"]), {})
        message = self.daemon.mail("bytes@example.org")
        self.assertEqual(self.daemon.raw(message), content)
        self.assertEqual(message["envelope"], {"from": "app@example.com", "to": ["bytes@example.org"]})

    def test_starttls_with_our_authority(self):
        with self.client() as client:
            client.starttls(context=ssl.create_default_context(cafile=self.daemon.authority))
            client.login("default", "anything")
            client.sendmail("app@example.com", "tls@example.org", "Subject: by TLS\r\n\r\nx")
        self.assertEqual(self.daemon.mail("tls@example.org")["subject"], "by TLS")

    def test_login(self):
        for mechanism in ("PLAIN", "LOGIN"):
            with self.client() as client:
                client.ehlo()
                client.esmtp_features["auth"] = mechanism
                client.login("default", "secret-of-the-app")
                client.sendmail("app@example.com", f"{mechanism}@example.org", "Subject: x\r\n\r\nx")
            self.daemon.mail(f"{mechanism}@example.org")
        self.assertNotIn("secret-of-the-app", self.daemon.get("requests?limit=1000").decode())

    def test_international_addresses(self):
        message = EmailMessage(policy=email.policy.SMTPUTF8)
        message["From"], message["To"], message["Subject"] = "jörg@example.com", "grüße@exämple.org", "Grüße aus Köln"
        message.set_content("Schöne Grüße\n")
        with self.client() as client:
            client.send_message(message)
        found = self.daemon.mail("grüße@exämple.org")
        self.assertEqual((found["subject"], found["from"], found["text"].strip()),
                         ("Grüße aus Köln", "jörg@example.com", "Schöne Grüße"))

    def test_commands_in_a_row(self):
        """Sends all commands of a message at once, and those of the next message with its end, as in RFC 2920."""
        with socket.create_connection(("localhost", self.daemon.smtp)) as wire:
            envelope = "MAIL FROM:<app@example.com>\r\nRCPT TO:<row{}@example.org>\r\nDATA\r\n"
            wire.sendall(("EHLO me\r\n" + envelope.format(1)).encode())
            wire.sendall(("Subject: 1\r\n\r\n1\r\n.\r\n" + envelope.format(2)).encode())
            wire.sendall(b"Subject: 2\r\n\r\n2\r\n.\r\nQUIT\r\n")
            answers = b""
            while part := wire.recv(65536):
                answers += part
        codes = [line[:3] for line in answers.decode().splitlines() if line[3:4] != "-"]
        self.assertEqual(codes, ["220", "250"] + ["250", "250", "354", "250"] * 2 + ["221"])
        self.assertEqual([self.daemon.mail(f"row{n}@example.org")["subject"] for n in (1, 2)], ["1", "2"])

    def test_a_hundred_recipients(self):
        people = [f"many{number}@example.org" for number in range(100)]
        with self.client() as client:
            self.assertEqual(client.sendmail("app@example.com", people, "Subject: many\r\n\r\nx"), {})
            refused = client.sendmail("app@example.com", people + ["one-more@example.org"], "Subject: more\r\n\r\nx")
        self.assertEqual(list(refused), ["one-more@example.org"])
        self.assertEqual(self.daemon.mail("many99@example.org")["envelope"]["to"], people)

    def test_large_mail(self):
        content = b"Subject: large\r\n\r\n" + b"0123456789abcdef\r\n" * 500_000
        with self.client() as client:
            client.sendmail("app@example.com", "large@example.org", content)
            with self.assertRaises(smtplib.SMTPSenderRefused) as refused:
                client.sendmail("app@example.com", "large@example.org", content * 2)
        self.assertEqual(refused.exception.smtp_code, 552)
        self.assertEqual(self.daemon.raw(self.daemon.mail("large@example.org")), content)


class Programs(MailTestCase):
    def run_program(self, *command, input=None, env=None):
        result = subprocess.run(
            command, input=input, capture_output=True, text=True, timeout=300, env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def attachments(self, message):
        """Returns the attachments that the daemon reads, which must be those that Python reads."""
        found = [(one["name"], urllib.request.urlopen(one["url"]).read()) for one in message["attachments"]]
        parts = email.message_from_bytes(self.daemon.raw(message), policy=email.policy.default).walk()
        read = [(part.get_filename(), part.get_payload(decode=True)) for part in parts if part.get_filename()]
        self.assertEqual(found, read)
        return found

    def test_curl(self):
        with tempfile.NamedTemporaryFile("w", suffix=".eml") as file:
            file.write("From: app@example.com\nTo: curl@example.org\nSubject: by curl\n\n.dot\nHello\n")
            file.flush()
            for options in ([], ["--ssl-reqd", "--cacert", self.daemon.authority, "--user", "default:x"]):
                self.run_program(
                    "curl", "-sS", "--crlf", f"smtp://localhost:{self.daemon.smtp}", "--mail-from", "app@example.com",
                    "--mail-rcpt", "curl@example.org", "-T", file.name, *options)
        found = self.daemon.mail("curl@example.org")
        self.assertEqual((found["subject"], found["text"]), ("by curl", ".dot\nHello\n"))

    def test_swaks(self):
        output = self.run_program(
            "swaks", "--server", f"localhost:{self.daemon.smtp}", "--from", "app@example.com", "--to",
            "swaks@example.org", "--header", "Subject: by swaks", "--body", "Hello", "--tls", "--auth", "LOGIN",
            "--auth-user", "default", "--auth-password", "x", "--attach", "@/etc/hostname")
        self.assertIn("=== TLS started", output)
        found = self.daemon.mail("swaks@example.org")
        self.assertEqual(found["subject"], "by swaks")
        with open("/etc/hostname", "rb") as file:
            self.assertEqual(self.attachments(found), [("hostname", file.read())])

    def test_msmtp(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(textwrap.dedent(f"""\
                account default
                host localhost
                port {self.daemon.smtp}
                tls on
                tls_trust_file {self.daemon.authority}
                auth plain
                user default
                password x
                from app@example.com
                """))
            file.flush()
            os.chmod(file.name, 0o600)
            self.run_program("msmtp", "-C", file.name, "msmtp@example.org", input="Subject: by msmtp\n\nHello\n")
        self.assertEqual(self.daemon.mail("msmtp@example.org")["subject"], "by msmtp")

    @unittest.skipUnless(os.path.isdir("/usr/share/nodejs/nodemailer"), "node-nodemailer isn't installed")
    def test_nodemailer(self):
        script = """
            const transport = require("nodemailer").createTransport({
              host: "localhost", port: Number(process.env.SMTP_PORT), auth: {user: "default", pass: "x"}});
            transport.sendMail({
              from: '"Example" <app@example.com>', to: "nodemailer@example.org", subject: "Grüße by Nodemailer",
              text: "Hello", html: '<p>Hello, <a href="https://example.com/confirm?token=abc">confirm</a></p>',
              attachments: [{filename: "größe.txt", content: "12345"}],
            }).then((info) => console.log(info.accepted.length)).catch((error) => { console.error(error); process.exit(1) });
            """
        env = {"NODE_PATH": "/usr/share/nodejs", "NODE_EXTRA_CA_CERTS": self.daemon.authority,
               "SMTP_PORT": str(self.daemon.smtp)}
        self.assertEqual(self.run_program("node", "-e", script, env=env).strip(), "1")
        found = self.daemon.mail("nodemailer@example.org")
        self.assertEqual((found["subject"], found["text"].strip()), ("Grüße by Nodemailer", "Hello"))
        self.assertIn("https://example.com/confirm?token=abc", found["links"])
        self.assertEqual(self.attachments(found), [("größe.txt", b"12345")])

    def test_ruby_mail(self):
        """Sends multipart/alternative in multipart/mixed by Ruby's Mail, which Rails' ActionMailer uses."""
        script = """
            require "mail"
            Mail.defaults do
              delivery_method :smtp, address: "localhost", port: ENV["SMTP_PORT"].to_i, user_name: "default", password: "x",
                authentication: :plain, enable_starttls_auto: true, openssl_verify_mode: "none"
            end
            Mail.deliver do
              from "app@example.com"; to ["ruby@example.org", "other@example.org"]; subject "Grüße by Rails"
              text_part { content_type "text/plain; charset=UTF-8"; body "Your code is 424242" }
              html_part { content_type "text/html; charset=UTF-8"; body "<p>Your code is <b>424242</b></p>" }
              add_file filename: "a.bin", content: (0..255).map(&:chr).join.b
            end
            """
        self.run_program("ruby", "-e", script, env={"SMTP_PORT": str(self.daemon.smtp)})
        found = self.daemon.mail("ruby@example.org")
        self.assertEqual((found["subject"], found["text"].strip()), ("Grüße by Rails", "Your code is 424242"))
        self.assertEqual((found["codes"], found["envelope"]["to"]), (["424242"], ["ruby@example.org", "other@example.org"]))
        self.assertEqual(self.attachments(found), [("a.bin", bytes(range(256)))])

    def test_django(self):
        script = f"""
            import base64
            from django.conf import settings
            settings.configure(
                EMAIL_HOST="localhost", EMAIL_PORT={self.daemon.smtp}, EMAIL_USE_TLS=True, EMAIL_HOST_USER="default",
                EMAIL_HOST_PASSWORD="x", DEFAULT_FROM_EMAIL="app@example.com")
            from django.core.mail import EmailMultiAlternatives, send_mail
            mail = EmailMultiAlternatives(
                "Grüße by Django", "Hello", to=["Django <django@example.org>"], cc=["cc@example.org"], bcc=["bcc@example.org"])
            mail.attach_alternative("<p>Hello</p>", "text/html")
            mail.attach("picture.png", base64.b64decode("{base64.b64encode(PICTURE).decode()}"), "image/png")
            assert mail.send() == 1
            assert send_mail("plain", "text", None, ["plain@example.org"]) == 1
            """
        self.run_program(
            sys.executable, "-c", textwrap.dedent(script), env={"SSL_CERT_FILE": self.daemon.authority})
        found = self.daemon.mail("bcc@example.org")
        self.assertEqual((found["subject"], found["text"].strip(), found["html"].strip()),
                         ("Grüße by Django", "Hello", "<p>Hello</p>"))
        self.assertEqual(found["envelope"]["to"], ["django@example.org", "cc@example.org", "bcc@example.org"])
        self.assertEqual(self.attachments(found), [("picture.png", PICTURE)])
        self.assertEqual(self.daemon.mail("plain@example.org")["subject"], "plain")


class WorldsByName(MailTestCase):
    def test_the_user_names_the_world(self):
        with smtplib.SMTP("localhost", self.daemon.smtp) as client:
            client.login("tests-of-mail", "x")
            client.sendmail("app@example.com", "world@example.org", "Subject: x\r\n\r\nx")
        found = json.loads(self.daemon.get("mail?to=world@example.org", "tests-of-mail"))
        self.assertEqual(len(found["messages"]), 1)
        self.assertEqual(json.loads(self.daemon.get("mail?to=world@example.org"))["messages"], [])


if __name__ == "__main__":
    unittest.main()
