"""ID tokens at a server in Swift, which verifies them with jwt-kit. What the server is lies in `swift`, as a package."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from support import Daemon

PACKAGE = pathlib.Path(__file__).resolve().parent / "swift"
SCRATCH = PACKAGE.parents[2] / ".build" / "clients-swift"
DEFAULT_SEED = PACKAGE.parents[2] / "seed-data" / "default.json"
PROVIDERS = ["apple", "google", "firebase", "openid"]
# For each way to break a token, this is jwt-kit's name of the error.
COMPLAINTS = {
    "another audience": "claimVerificationFailure", "expired": "claimVerificationFailure",
    **dict.fromkeys(["invalid", "unknownKey", "wrongAlgorithm", "none"], "signatureVerificationFailed"),
}


@unittest.skipUnless(shutil.which("swift"), "Swift isn't here")
class JWTKit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # By prefix, Firebase leaves its tokens unsigned, unless the seed says otherwise.
        seed = pathlib.Path(folder.name) / "seed.json"
        seed.write_text(json.dumps({"firebase": {"projects": [{"id": "demo-app", "idTokenSignature": "RS256"}]}}))
        cls.daemon = Daemon("--seed", str(DEFAULT_SEED), "--seed", str(seed))
        cls.addClassCleanup(cls.daemon.stop)
        subprocess.run(
            ["swift", "build", "--quiet", "--package-path", str(PACKAGE), "--scratch-path", str(SCRATCH)], check=True)

    def test_id_tokens(self):
        person = json.dumps({"email": "ada@example.com", "password": "correct horse"}).encode()
        urllib.request.urlopen(urllib.request.Request(
            f"{self.daemon.url}/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", data=person,
            headers={"Content-Type": "application/json"})).close()
        result = subprocess.run(
            [str(SCRATCH / "debug" / "SwiftClient")], env=os.environ | {"UNDERSTUDY_URL": self.daemon.url},
            capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.splitlines(), [
            line for provider in PROVIDERS
            for line in [f"{provider}: ada@example.com", *(f"{provider}, {way}: {complaint}" for way, complaint in COMPLAINTS.items())]])


if __name__ == "__main__":
    unittest.main()
