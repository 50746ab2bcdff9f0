"""Clients that nothing was changed about, against the real host names: by namespaces, and by a proxy."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["UNDERSTUDY_BINARY"]
SCRIPTS = pathlib.Path(__file__).parent / "unmodified"


def run(way, command, **more):
    environment = {
        name: value for name, value in os.environ.items()
        if not name.endswith(("_CA_BUNDLE", "_CERT_FILE", "_CERT_DIR", "_CA_CERTS", "_proxy", "_PROXY"))
    }
    return subprocess.run(
        [BINARY, "exec", "--log-file", os.devnull, *way, "--", *command], capture_output=True, text=True,
        env=environment | more, timeout=120)


INTERCEPTS = run(["--intercept", "--isolate"], ["true"]).returncode == 0


class RealNames:
    """What each way must manage."""

    def script(self, name):
        # The folder of the scripts comes first, so that they find what they share.
        result = run(self.way, [sys.executable, "-B", str(SCRIPTS / name)])
        self.assertEqual((result.returncode, result.stdout), (0, "ok\n"), result.stderr)

    def test_pyjwt(self):
        self.script("pyjwt_keys.py")

    def test_firebase_admin(self):
        self.script("firebase_certificates.py")

    def test_authlib(self):
        self.script("authlib_google.py")

    def test_social_auth(self):
        self.script("social_auth.py")

    def test_curl(self):
        result = run(self.way, ["curl", "-s", "-f", "https://appleid.apple.com/auth/keys"])
        self.assertIn("SEEDkey001", result.stdout, result.stderr)

    def test_go(self):
        """Go's net/http, which asks the environment for both."""
        if not shutil.which("go"):
            self.skipTest("Go isn't here")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "get.go")
            source.write_text(
                'package main\nimport ("fmt"; "io"; "net/http")\nfunc main() {\n'
                '\tanswer, err := http.Get("https://appleid.apple.com/auth/keys")\n\tif err != nil { panic(err) }\n'
                "\tbody, _ := io.ReadAll(answer.Body)\n\tfmt.Println(string(body))\n}\n")
            # Built outside: the compiler wants its cache, not the network.
            subprocess.run(
                ["go", "build", "-o", f"{folder}/get", str(source)], check=True,
                env=os.environ | {"GOCACHE": f"{folder}/cache", "GOPATH": folder, "GO111MODULE": "off", "CGO_ENABLED": "0"})
            result = run(self.way, [f"{folder}/get"])
        self.assertIn("SEEDkey001", result.stdout, result.stderr)

    def test_gh(self):
        """GitHub CLI, with a token that a sign-in brought."""
        if not shutil.which("gh"):
            self.skipTest("gh isn't here")
        with tempfile.TemporaryDirectory() as home:
            command = (
                "curl -s -f --noproxy '*' \"$UNDERSTUDY_CONTROL_URL/outcomes\" "
                "-d '{\"provider\":\"github\",\"outcome\":\"approve\",\"account\":\"ada\"}' > /dev/null; "
                "code=$(curl -s -o /dev/null -w '%{redirect_url}' "
                "'https://github.com/login/oauth/authorize?client_id=Ov23liAutoAnswers001&scope=repo%20read:org%20gist' "
                "| sed 's/.*code=\\([^&]*\\).*/\\1/'); "
                "export GH_TOKEN=$(curl -s -f https://github.com/login/oauth/access_token -H 'Accept: application/json' "
                "-d client_id=Ov23liAutoAnswers001 -d client_secret=github-secret-for-tests -d code=$code "
                "| sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/'); "
                "gh api user --jq .login"
            )
            result = run(self.way, ["bash", "-c", command], HOME=home, GH_CONFIG_DIR=home)
        self.assertEqual(result.stdout, "ada\n", result.stderr)


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class ByNamespaces(RealNames, unittest.TestCase):
    # In a network where there is nothing else, no request can go anywhere else.
    way = ["--intercept", "--isolate"]

    def test_node(self):
        """Node's fetch, which knows no proxy."""
        if not shutil.which("node"):
            self.skipTest("Node.js isn't here")
        code = "fetch('https://www.googleapis.com/oauth2/v3/certs').then(a => console.log(a.status))"
        self.assertEqual(run(self.way, ["node", "-e", code]).stdout, "200\n")

    def test_java(self):
        """Java has its own list of authorities, so it is told."""
        if not shutil.which("java"):
            self.skipTest("Java isn't here")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "Get.java")
            source.write_text(
                "public class Get { public static void main(String[] a) throws Exception { System.out.println("
                "new String(new java.net.URL(a[0]).openStream().readAllBytes())); } }")
            command = (
                f"cd {folder}; awk '/BEGIN/ {{ c = \"\" }} {{ c = c $0 \"\\n\" }} END {{ printf \"%s\", c }}' \"$SSL_CERT_FILE\" > one.pem; "
                "keytool -importcert -noprompt -alias understudy -file one.pem -keystore k.p12 "
                "-storetype PKCS12 -storepass changeit 2> /dev/null; "
                "java -Djavax.net.ssl.trustStore=k.p12 -Djavax.net.ssl.trustStorePassword=changeit Get.java "
                "https://appleid.apple.com/auth/keys")
            result = run(self.way, ["bash", "-c", command])
        self.assertIn("SEEDkey001", result.stdout, result.stderr)


class ByProxy(RealNames, unittest.TestCase):
    way = ["--proxy-port", "0"]


if __name__ == "__main__":
    unittest.main()
