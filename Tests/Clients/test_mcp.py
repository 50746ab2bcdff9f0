"""Clients of the Model Context Protocol: the Python SDK and FastMCP, unmodified, sign in at an issuer for its protected resource."""

import asyncio
import contextlib
import http.server
import json
import threading
import unittest
import urllib.parse

import fastmcp
import httpx2
import requests
from fastmcp.client.auth import OAuth
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from issuer import IssuerTestCase, query

CALLBACK = "http://localhost:3030/callback"


class Memory:
    """A client's storage for tokens and its registration."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def causes(error):
    """The errors within a group, in words."""
    if isinstance(error, BaseExceptionGroup):
        return " ".join(causes(inner) for inner in error.exceptions)
    return f"{type(error).__name__} {error}"


class MCPTestCase(IssuerTestCase):
    more = {"registration": "open", "clientMetadataDocuments": True}

    @classmethod
    def clients(cls):
        return []

    def setUp(self):
        super().setUp()
        self.server = f"{self.daemon.url}/mcp/corp"
        self.memory = Memory()
        self.sign_ins = 0

    def registered(self):
        answer = requests.get(f"{self.daemon.url}/_understudy/v1/openid/clients")
        return [client["metadata"].get("client_name") for client in answer.json()["clients"]]


class PythonSDKTestCase(MCPTestCase):
    """OAuthClientProvider of the official SDK."""

    person = "ada"

    def order_sign_in(self):
        world = self.server.removesuffix("/mcp/corp")
        order = {"provider": "openid", "outcome": "approve", "account": self.person}
        requests.post(f"{world}/_understudy/v1/outcomes", json=order).raise_for_status()

    def provider(self, **more):
        answer = {}

        async def open_browser(address):
            self.sign_ins += 1
            self.order_sign_in()
            redirect = requests.get(address, allow_redirects=False)
            self.assertEqual(redirect.status_code, 302, redirect.headers.get("Understudy-Diagnosis"))
            answer.clear()
            answer.update(query(redirect.headers["Location"]))

        async def callback():
            return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

        metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[CALLBACK])
        return OAuthClientProvider(self.server, metadata, self.memory, open_browser, callback, **more)

    @contextlib.asynccontextmanager
    async def session(self, provider=None):
        async with (
            httpx2.AsyncClient(auth=provider or self.provider(), timeout=30) as client,
            streamable_http_client(self.server, http_client=client) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            yield session

    def whoami(self, provider=None):
        async def run():
            async with self.session(provider) as session:
                return (await session.call_tool("whoami", {})).structured_content
        return asyncio.run(asyncio.wait_for(run(), 60))

    def refusal(self, call="whoami"):
        """Returns the client's error."""
        async def run():
            async with self.session() as session:
                result = await session.call_tool(call, {"text": "a"} if call != "whoami" else {})
                raise AssertionError(f"it works: {result}")
        with self.assertRaises(BaseException) as caught:
            asyncio.run(asyncio.wait_for(run(), 60))
        return causes(caught.exception)


class PythonSDK(PythonSDKTestCase):
    def test_register_sign_in_step_up_and_refresh(self):
        async def run():
            provider = self.provider()
            async with self.session(provider) as session:
                person = (await session.call_tool("whoami", {})).structured_content
                self.assertEqual((person["account"], person["client"]), ("ada", self.memory.client.client_id))
                self.assertNotIn("mcp:write", person["scopes"])
                self.assertEqual((await session.call_tool("echo", {"text": "a"})).structured_content["text"], "a")
                note = await session.call_tool("write_note", {"text": "b"})
                self.assertEqual(note.structured_content["text"], "b")
                self.assertEqual(self.sign_ins, 2)
                before = self.memory.tokens
                provider.context.token_expiry_time = 1
                person = (await session.call_tool("whoami", {})).structured_content
                self.assertIn("mcp:write", person["scopes"])
                self.assertNotEqual(self.memory.tokens.refresh_token, before.refresh_token)
                self.assertEqual(self.sign_ins, 2)
        asyncio.run(asyncio.wait_for(run(), 60))
        self.assertEqual(self.registered(), ["Python SDK"])

    def test_client_id_metadata_document_of_the_seed(self):
        document = "https://app.example/oauth/client.json"
        self.daemon.control("seed", openid={"issuers": [{"id": "corp", "clientDocuments": {document: {
            "client_id": document, "client_name": "Example App", "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"]}}}]})
        person = self.whoami(self.provider(client_metadata_url=document))
        self.assertEqual((person["client"], self.registered()), (document, []))

    def test_another_world(self):
        self.daemon.control("worlds", name="other")
        self.server, self.person = f"{self.daemon.url}/~other/mcp/corp", "grace"
        self.assertEqual(self.whoami()["account"], "grace")
        self.assertEqual(self.registered(), [])

    def test_failures_that_it_notices(self):
        for scenario, complaint in [
            ("mcp-metadata-of-another-issuer", "issuer mismatch"), ("mcp-iss-missing", "missing iss"),
            ("mcp-iss-wrong", "iss mismatch"), ("mcp-registration-refused", "invalid_client_metadata"),
            ("mcp-registration-rate-limited", "429"), ("mcp-foreign-resource", "does not match expected"),
            ("mcp-iss-unexpected", "iss mismatch"), ("mcp-iss-normalized", "iss mismatch"),
        ]:
            with self.subTest(scenario):
                self.daemon.control("reset")
                self.memory = Memory()
                self.scenario(scenario)
                self.assertIn(complaint, self.refusal())

    def test_what_it_copes_with(self):
        """Each has a world of its own, because it changes the seed, at a port, because it may be about the root's metadata."""
        for scenario in [
            "mcp-metadata-unannounced", "mcp-metadata-at-the-root", "mcp-metadata-elsewhere", "mcp-scopes-from-metadata",
            "mcp-no-scopes", "mcp-step-up-by-difference", "mcp-token-endpoint-auth", "mcp-no-offline-access",
            "mcp-iss-not-advertised",
        ]:
            with self.subTest(scenario):
                world = self.daemon.control("worlds", name=scenario, listen=0)["url"]
                self.server, self.memory = f"{world}/mcp/corp", Memory()
                requests.post(f"{world}/_understudy/v1/scenarios/{scenario}").raise_for_status()
                async def run():
                    async with self.session() as session:
                        note = await session.call_tool("write_note", {"text": "a"})
                        return note.structured_content["text"]
                self.assertEqual(asyncio.run(asyncio.wait_for(run(), 60)), "a")

    def test_wrong_audience_and_endless_step_up_end(self):
        for scenario in ["mcp-wrong-audience", "mcp-endless-step-up"]:
            with self.subTest(scenario):
                self.daemon.control("reset")
                self.memory, self.sign_ins = Memory(), 0
                self.scenario(scenario)
                self.refusal()
                self.assertLessEqual(self.sign_ins, 3)

    def test_refresh_that_is_revoked(self):
        provider = self.provider()
        async def run():
            async with self.session(provider) as session:
                await session.call_tool("whoami", {})
                self.scenario("mcp-refresh-revoked")
                provider.context.token_expiry_time = 1
                return (await session.call_tool("whoami", {})).structured_content
        self.assertEqual(asyncio.run(asyncio.wait_for(run(), 60))["account"], "ada")
        self.assertEqual(self.sign_ins, 2)
        self.assertEqual(self.registered(), ["Python SDK"])


class MovedServer(PythonSDKTestCase):
    """Tests with a separate daemon whose seed later gets another issuer."""

    def test_moved_server(self):
        self.whoami()
        client = self.memory.client.client_id
        self.scenario("mcp-moved-server")
        person = self.whoami()
        self.assertEqual(person["issuer"], f"{self.daemon.url}/oidc/moved")
        self.assertNotEqual(person["client"], client)



class CompanyAndVendor(PythonSDKTestCase):
    """The SDK's provider for enterprise-managed authorization, with assertions of the company's issuer."""

    URN = "urn:ietf:params:oauth"

    def setUp(self):
        super().setUp()
        company = {"clientID": "agent", "clientSecret": "company-secret", "redirectURIs": [CALLBACK]}
        vendor = {"clientID": "agent", "clientSecret": "vendor-secret"}
        self.daemon.control("seed", openid={"issuers": [
            {"id": "corp", "crossAppAccess": [{"issuer": "vendor"}], "clients": [company]},
            {"id": "vendor", "trustedIssuers": ["corp"], "clients": [vendor]}]})
        self.server, self.vendor = f"{self.daemon.url}/mcp/vendor", f"{self.daemon.url}/oidc/vendor"
        self.asked = 0

    def token(self, **form):
        answer = requests.post(f"{self.issuer}/token", data=form, auth=("agent", "company-secret"))
        self.assertEqual(answer.status_code, 200, answer.headers.get("Understudy-Diagnosis"))
        return answer.json()

    def id_token(self):
        self.daemon.control("outcomes", provider="openid", outcome="approve", account="ada")
        request = {"client_id": "agent", "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid"}
        redirect = requests.get(f"{self.issuer}/authorize", params=request, allow_redirects=False)
        code = query(redirect.headers["Location"])["code"]
        return self.token(grant_type="authorization_code", code=code, redirect_uri=CALLBACK)["id_token"]

    def enterprise(self):
        id_token = self.id_token()

        async def assertion(audience, resource):
            self.asked += 1
            return self.token(
                grant_type=f"{self.URN}:grant-type:token-exchange", audience=audience, resource=resource,
                requested_token_type=f"{self.URN}:token-type:id-jag", scope="mcp:read mcp:write",
                subject_token=id_token, subject_token_type=f"{self.URN}:token-type:id_token")["access_token"]

        return IdentityAssertionOAuthProvider(
            self.server, self.memory, "agent", "vendor-secret", self.vendor, assertion, scope="mcp:read")

    def test_whoever_has_signed_in_at_the_company_is_let_in_by_the_vendor(self):
        async def run():
            async with self.session(self.enterprise()) as session:
                person = (await session.call_tool("whoami", {})).structured_content
                self.assertEqual((person["account"], person["issuer"]), ("ada", self.vendor))
                self.assertEqual(person["scopes"], ["mcp:read"])
                note = await session.call_tool("write_note", {"text": "a"})
                self.assertEqual(note.structured_content["text"], "a")
                self.assertEqual(self.asked, 2)
        asyncio.run(asyncio.wait_for(run(), 60))

    def test_assertion_that_is_refused(self):
        self.scenario("mcp-assertion-refused")
        with self.assertRaises(BaseException) as caught:
            self.whoami(self.enterprise())
        self.assertIn("invalid_grant", causes(caught.exception))
        self.assertEqual(self.asked, 1)


class FastMCP(MCPTestCase):
    """FastMCP's client, which registers itself and waits at a port of its own for the browser."""

    def test_register_and_sign_in(self):
        test = self

        class Browserless(OAuth):
            async def redirect_handler(self, authorization_url):
                test.daemon.control("outcomes", provider="openid", outcome="approve", account="grace")
                # The redirect leads to the client's own port, which listens a moment later.
                threading.Timer(1, requests.get, [authorization_url]).start()

        async def run():
            auth = Browserless(self.server, client_name="FastMCP")
            async with fastmcp.Client(self.server, auth=auth) as client:
                return (await client.call_tool("whoami", {})).structured_content

        self.assertEqual(asyncio.run(asyncio.wait_for(run(), 60))["account"], "grace")
        self.assertEqual(self.registered(), ["FastMCP"])


class PublishedDocument(MCPTestCase):
    """A client that publishes its document on this machine."""

    def serve(self, change=lambda document: document, **headers):
        class Handler(http.server.BaseHTTPRequestHandler):
            asked = 0

            def do_GET(self):
                Handler.asked += 1
                address = f"http://localhost:{self.server.server_port}/client.json"
                document = {"client_id": address, "client_name": "Published", "redirect_uris": [CALLBACK]}
                body = json.dumps(change(document)).encode()
                self.send_response(200)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://localhost:{server.server_port}/client.json", Handler

    def authorize(self, client):
        self.daemon.control("outcomes", provider="openid", outcome="approve", account="ada")
        request = {
            "client_id": client, "redirect_uri": CALLBACK, "response_type": "code", "scope": "mcp:read", "state": "s",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
            "resource": self.server,
        }
        return requests.get(f"{self.issuer}/authorize?{urllib.parse.urlencode(request)}", allow_redirects=False)

    def test_sign_in(self):
        client, handler = self.serve(Cache_Control="max-age=600")
        code = query(self.authorize(client).headers["Location"])["code"]
        answer = requests.post(f"{self.issuer}/token", data={
            "grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "client_id": client,
            "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"})
        self.assertEqual(answer.status_code, 200, answer.text)
        self.authorize(client)
        self.assertEqual(handler.asked, 1)
        self.daemon.control("clock", advance="11m")
        self.authorize(client)
        self.assertEqual(handler.asked, 2)

    def test_documents_that_are_refused(self):
        for change, reason in [
            (lambda document: document | {"client_id": "https://other.example/client.json"}, "its client_id is"),
            (lambda document: document | {"client_secret": "s"}, "client_secret"),
            (lambda document: document | {"token_endpoint_auth_method": "client_secret_basic"}, "client_secret_basic"),
            (lambda document: {"client_id": document["client_id"], "client_name": "a"}, "redirect_uris is missing"),
            (lambda document: document | {"client_name": ""}, "client_name"), (lambda _: [1], "a JSON object"),
        ]:
            client, _ = self.serve(change)
            answer = self.authorize(client)
            with self.subTest(reason):
                self.assertEqual(answer.status_code, 400)
                self.assertIn(reason, answer.headers["Understudy-Diagnosis"])
        answer = self.authorize("https://unknown.example/client.json")
        self.assertIn("clientMetadataHosts", answer.headers["Understudy-Diagnosis"])
        self.assertIn("no path", self.authorize("https://unknown.example/").headers["Understudy-Diagnosis"])


if __name__ == "__main__":
    unittest.main()
