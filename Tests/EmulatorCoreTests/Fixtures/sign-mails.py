"""Writes dkim.json: mails signed by a signer that isn't ours (dkimpy and PyNaCl from PyPI, keys by openssl).

    python3 -m venv venv && venv/bin/pip install dkimpy pynacl && venv/bin/python sign-mails.py > dkim.json
"""

import base64
import json
import subprocess

import dkim
import nacl.encoding
import nacl.signing


def rsa(bits):
    private = subprocess.run(["openssl", "genrsa", "-traditional", str(bits)], capture_output=True, check=True).stdout
    public = subprocess.run(
        ["openssl", "rsa", "-pubout", "-outform", "DER"], input=private, capture_output=True, check=True).stdout
    inner = subprocess.run(
        ["openssl", "rsa", "-RSAPublicKey_out", "-outform", "DER"], input=private, capture_output=True, check=True).stdout
    return private, base64.b64encode(public).decode(), base64.b64encode(inner).decode()


class Signer(dkim.DKIM):
    """Adds tags that the library doesn't write by itself."""

    more = []

    def gen_header(self, fields, *rest):
        place = next(i for i, (name, _) in enumerate(fields) if name == b"b")
        fields[place:place] = self.more
        return super().gen_header(fields, *rest)


PLAIN = b"""From: Example <noreply@example.com>
To: dpdcnf87nu@privaterelay.appleid.com
Subject: Hello
Date: Sun, 22 Nov 2026 18:00:00 +0000
Message-ID: <1@example.com>

Hello Ada,
this is a mail.
"""
ODD = b"""Received: from a by b;
\tSun, 22 Nov 2026 18:00:00 +0000
FROM:  Example   Inc. \t<noreply@example.com>\x20\x20
X-Note: first
To: ada@example.org,
    grace@example.org
Subject:\tGr\xc3\xbc\xc3\x9fe \t an
  alle
X-Note: second

Two  spaces,\ttabs \t and an end \x20
 a line that begins with one
.a point
-- \x20

a \rbreak of its own
\x20
\t

"""
MAILS = {
    "plain": PLAIN,
    "odd": ODD,
    "no-body": PLAIN.split(b"\n\n")[0] + b"\n\n",
    "empty-lines": PLAIN.split(b"\n\n")[0] + b"\n\n\n\n\n",
    "no-last-break": PLAIN.rstrip(b"\n"),
}


def main():
    private, public, inner = rsa(2048)
    old_private, old_public, _ = rsa(1024)
    edwards = nacl.signing.SigningKey.generate()
    keys = {
        "rsa": {"selector": "rsa", "private": private, "algorithm": b"rsa-sha256"},
        "old": {"selector": "old", "private": old_private, "algorithm": b"rsa-sha256"},
        "ed": {
            "selector": "ed",
            "private": edwards.encode(encoder=nacl.encoding.Base64Encoder),
            "algorithm": b"ed25519-sha256",
        },
    }
    cases = []

    def sign(name, mail, key="rsa", header=b"relaxed", body=b"relaxed", tail=b"", more=(), domain=b"example.com", **rest):
        key = keys[key]
        raw = mail.replace(b"\n", b"\r\n")
        signer = Signer(raw, signature_algorithm=key["algorithm"])
        signer.more = list(more)
        field = signer.sign(
            key["selector"].encode(), domain, key["private"], canonicalize=(header, body), **rest)
        cases.append({"name": name, "mail": base64.b64encode(field + raw + tail).decode()})

    for key in keys:
        for title, mail in MAILS.items():
            for header in (b"simple", b"relaxed"):
                for body in (b"simple", b"relaxed"):
                    name = f"{key} {title} {header.decode()}/{body.decode()}"
                    sign(name, mail, key, header, body)
    sign("length", PLAIN, length=True, tail=b"A footer of a mailing list.\r\n")
    sign("length simple", PLAIN, body=b"simple", length=True, tail=b"\r\n\r\nA footer.\r\n")
    sign("oversigned", PLAIN, include_headers=[b"from", b"from", b"to", b"subject", b"subject", b"x-none"])
    sign("repeated", ODD, include_headers=[b"from", b"x-note", b"x-note"])
    sign("agent", PLAIN, identity=b"news@mail.example.com")
    sign("expires", PLAIN, more=[(b"x", b"2000000000")])
    sign("below", PLAIN, domain=b"mail.example.com")
    print(json.dumps({
        "keys": {
            "rsa": f"v=DKIM1; k=rsa; p={public}", "rsa-inner": inner, "rsa-bare": public,
            "old": f"v=DKIM1; p={old_public}",
            "ed": "v=DKIM1; k=ed25519; p=" + edwards.verify_key.encode(nacl.encoding.Base64Encoder).decode(),
        },
        "mails": cases,
    }, indent=1))


main()
