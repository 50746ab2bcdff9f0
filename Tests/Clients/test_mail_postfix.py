"""A real Postfix that relays all mail through the daemon, by STARTTLS, with our authority verified."""

import json
import os
import shutil
import smtplib
import subprocess
import tempfile
import textwrap
import unittest

from mail_support import MailDaemon, free_port, wait


@unittest.skipUnless(shutil.which("postfix") and os.getuid() == 0, "Postfix isn't installed, or root is missing")
class Postfix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = MailDaemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.folder = tempfile.mkdtemp(prefix="understudy-postfix-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.port = free_port()
        settings, data = (os.path.join(cls.folder, name) for name in ("settings", "data"))
        for name in (settings, data, os.path.join(cls.folder, "queue")):
            os.mkdir(name)
        shutil.chown(data, "postfix")
        shutil.copy(cls.daemon.authority, settings)
        with open(os.path.join(settings, "main.cf"), "w") as file:
            file.write(textwrap.dedent(f"""\
                compatibility_level = 3.6
                queue_directory = {cls.folder}/queue
                data_directory = {data}
                myhostname = postfix.test
                mydestination =
                inet_interfaces = 127.0.0.1
                inet_protocols = ipv4
                relayhost = [localhost]:{cls.daemon.smtp}
                smtp_host_lookup = native
                smtp_tls_security_level = secure
                smtp_tls_secure_cert_match = localhost
                smtp_tls_CAfile = {settings}/understudy-ca.pem
                smtp_tls_loglevel = 1
                maillog_file = {cls.folder}/log
                maillog_file_prefixes = {cls.folder}
                alias_maps =
                local_recipient_maps =
                mynetworks = 127.0.0.0/8
                """))
        with open("/etc/postfix/master.cf.proto" if os.path.exists("/etc/postfix/master.cf.proto") else
                  "/usr/share/postfix/master.cf.dist") as file:
            services = [line.split() for line in file.read().splitlines() if line and line[0] not in "# \t"]
        with open(os.path.join(settings, "master.cf"), "w") as file:
            for service in services:
                if service[0] == "smtp" and service[1] == "inet":
                    service[0] = f"127.0.0.1:{cls.port}"
                service[4] = "n"  # in no other root
                file.write(" ".join(service) + "\n")
        cls.command = ["postfix", "-c", settings]
        started = subprocess.run([*cls.command, "start"], capture_output=True, text=True)
        cls.addClassCleanup(subprocess.run, [*cls.command, "stop"], capture_output=True)
        if started.returncode != 0:
            raise AssertionError(started.stdout + started.stderr + cls.log())

    @classmethod
    def log(cls):
        try:
            with open(os.path.join(cls.folder, "log")) as file:
                return file.read()
        except OSError:
            return ""

    def send(self, sender, to, subject):
        with smtplib.SMTP("127.0.0.1", self.port) as client:
            client.sendmail(sender, to, f"From: {sender}\r\nTo: {to}\r\nSubject: {subject}\r\n\r\nHello\r\n")

    def test_relays_by_tls(self):
        self.send("app@example.com", "postfix@example.org", "by Postfix")
        try:
            found = self.daemon.mail("postfix@example.org", wait="20s")
        except AssertionError:
            raise AssertionError(self.log())
        self.assertEqual(found["subject"], "by Postfix")
        self.assertIn(b"by postfix.test (Postfix)", self.daemon.raw(found))
        wait("word of TLS in Postfix's log", lambda: "Verified TLS connection established to localhost" in self.log())
        wait("our answer in Postfix's log", lambda: f"status=sent (250 2.0.0 ok: queued as {found['id']}" in self.log())

    def test_returns_what_is_refused(self):
        """Our 550 for an address that nobody has at the relay becomes Postfix's report to the sender, by way of us."""
        self.send("app@example.com", "nobody@privaterelay.appleid.com", "to nobody")
        try:
            report = self.daemon.mail("app@example.com", wait="20s")
        except AssertionError:
            raise AssertionError(self.log())
        self.assertEqual(report["envelope"], {"from": "", "to": ["app@example.com"]})
        self.assertIn("Undelivered Mail", report["subject"])
        raw = self.daemon.raw(report)
        self.assertIn(b"Final-Recipient: rfc822; nobody@privaterelay.appleid.com", raw)
        self.assertRegex(raw, rb"Status: 5\.")
        self.assertIn(b"Diagnostic-Code: smtp; 550 5.", raw)


if __name__ == "__main__":
    unittest.main()
