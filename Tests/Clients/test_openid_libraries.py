"""OpenID Connect with libraries that leave the web server to others: social-auth-core and requests-oauthlib."""

import os
import pathlib
import sys

import jwt
import requests
import requests_oauthlib
from oauthlib.oauth2 import BackendApplicationClient, InvalidGrantError, MismatchingStateError
from social_core.backends.open_id_connect import OpenIdConnectAuth
from social_core.exceptions import AuthCanceled, AuthStateForbidden, AuthTokenError

from issuer import SECRET, Browser, IssuerTestCase, query

sys.path.insert(0, str(pathlib.Path(__file__).parent / "unmodified"))
from social_strategy import Strategy  # noqa: E402

# requests-oauthlib wants https, except where told otherwise.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
CALLBACK = "https://app.example/callback"


class Social(IssuerTestCase):
    """social-auth-core's open_id_connect."""

    @classmethod
    def clients(cls):
        return [{"clientID": "social", "clientSecret": SECRET, "redirectURIs": [CALLBACK], "pkce": "required"}]

    def setUp(self):
        super().setUp()
        self.backend = self.make_backend(self.issuer)

    def make_backend(self, issuer):
        # The library caches the discovery document for each class.
        kind = type("OpenIdConnectAuth", (OpenIdConnectAuth,), {})
        return kind(Strategy({
            "SOCIAL_AUTH_OIDC_KEY": "social", "SOCIAL_AUTH_OIDC_SECRET": SECRET, "SOCIAL_AUTH_OIDC_OIDC_ENDPOINT": issuer,
            "SOCIAL_AUTH_OIDC_USE_PKCE": True, "SOCIAL_AUTH_OIDC_SCOPE": ["offline_access"],
            # The library waits for 5 seconds. A busy machine may take longer to make an RSA key.
            "SOCIAL_AUTH_OIDC_REQUESTS_TIMEOUT": 30}), CALLBACK)

    def sign_in(self, account="ada", backend=None):
        backend = backend or self.backend
        fields = query(Browser(account).get(backend.start(), until=CALLBACK))
        backend.strategy.data = backend.data = fields
        return backend.complete()

    def test_sign_in_and_refresh(self):
        response = self.sign_in()
        details = self.backend.get_user_details(response)
        self.assertEqual(
            (details["email"], details["fullname"], details["username"]), ("ada@example.com", "Ada Example", "ada"))
        self.assertEqual(self.backend.get_user_id(details, response), self.backend.id_token["sub"])
        # The next access token belongs to the same person, and the refresh token works once.
        renewed = self.backend.refresh_token(response["refresh_token"])
        self.assertEqual(self.backend.user_data(renewed["access_token"])["sub"], self.backend.id_token["sub"])
        with self.assertRaises(requests.HTTPError) as caught:
            self.backend.refresh_token(response["refresh_token"])
        self.assertEqual(caught.exception.response.json()["error"], "invalid_grant")

    def test_refusals(self):
        for broken, complaint in [
            ({"claims": {"nonce": "another"}}, "nonce"), ({"claims": {"iss": "https://login.other.example"}}, "issuer"),
            ({"claims": {"aud": "another"}}, "audience"), ({"claims": {"at_hash": "AAAA"}}, "access token"),
            ({"claims": {"exp": "-1h"}}, "expired"), ({"claims": {"iat": "-1h"}}, "iat"),
            ({"signature": "invalid"}, "Signature"), ({"signature": "unknownKey"}, "Signature"),
        ]:
            with self.subTest(broken), self.assertRaisesRegex(AuthTokenError, complaint):
                self.break_token(**broken)
                self.sign_in()

    def test_issuer_of_another_name(self):
        """Checks that a token mix-up is refused: the discovery document names another issuer than the tokens."""
        backend = self.make_backend(f"{self.daemon.url}/oidc/other")
        self.assertEqual(backend.oidc_config()["issuer"], "https://login.other.example")
        backend.ID_TOKEN_ISSUER = self.issuer
        with self.assertRaisesRegex(AuthTokenError, "issuer"):
            self.sign_in(backend=backend)

    def test_cancel(self):
        self.daemon.control("outcomes", provider="openid", outcome="cancel")
        with self.assertRaises(AuthCanceled):
            self.sign_in()

    def test_state_of_another(self):
        self.fault(path="*/authorize", state="wrong")
        with self.assertRaises(AuthStateForbidden):
            self.sign_in()

    def test_rotated_key(self):
        self.scenario("openid-rotated-key")
        for account in ["ada", "grace"]:
            self.assertEqual(self.sign_in(account)["email"], f"{account}@example.com")


class RequestsOAuthlib(IssuerTestCase):
    """oauthlib knows of tokens what OAuth says; PyJWT reads the ID token."""

    @classmethod
    def clients(cls):
        return [
            {"clientID": "spa", "redirectURIs": [CALLBACK], "idTokenAlgorithm": "ES256"},
            {"clientID": "api", "clientSecret": SECRET, "accessToken": "jwt", "audience": ["https://api.example"]},
        ]

    def setUp(self):
        super().setUp()
        self.metadata = requests.get(f"{self.issuer}/.well-known/openid-configuration").json()
        self.keys = jwt.PyJWKClient(self.metadata["jwks_uri"])

    def session(self, **more):
        return requests_oauthlib.OAuth2Session(
            "spa", redirect_uri=CALLBACK, scope=["openid", "email", "offline_access"], pkce="S256", **more)

    def sign_in(self, session, account="ada"):
        address, _ = session.authorization_url(self.metadata["authorization_endpoint"], nonce="n")
        callback = Browser(account).get(address, until=CALLBACK)
        return session.fetch_token(
            self.metadata["token_endpoint"], authorization_response=callback, include_client_id=True)

    def read(self, token, audience="spa"):
        return jwt.decode(
            token, self.keys.get_signing_key_from_jwt(token).key, algorithms=["ES256", "RS256"], audience=audience,
            issuer=self.metadata["issuer"])

    def test_public_client(self):
        session = self.session()
        token = self.sign_in(session)
        claims = self.read(token["id_token"])
        self.assertEqual((claims["email"], claims["nonce"]), ("ada@example.com", "n"))
        self.assertEqual(session.get(self.metadata["userinfo_endpoint"]).json()["sub"], claims["sub"])

    def test_refresh_and_reuse(self):
        """A token that has expired is renewed by the library. The old refresh token, used again, ends the grant."""
        renewed = []
        session = self.session(
            auto_refresh_url=self.metadata["token_endpoint"], auto_refresh_kwargs={"client_id": "spa"},
            token_updater=renewed.append)
        first = self.sign_in(session)
        session.token = first | {"expires_at": 1}
        self.assertEqual(session.get(self.metadata["userinfo_endpoint"]).json()["email"], "ada@example.com")
        self.assertEqual(len(renewed), 1)
        self.assertNotEqual(renewed[0]["refresh_token"], first["refresh_token"])
        for token in [first, renewed[0]]:
            with self.assertRaises(InvalidGrantError):
                session.refresh_token(
                    self.metadata["token_endpoint"], refresh_token=token["refresh_token"], client_id="spa")
        self.assertEqual(
            requests.get(
                self.metadata["userinfo_endpoint"],
                headers={"Authorization": f"Bearer {renewed[0]['access_token']}"}).status_code, 401)

    def test_wrong_verifier(self):
        session = self.session()
        address, _ = session.authorization_url(self.metadata["authorization_endpoint"])
        callback = Browser().get(address, until=CALLBACK)
        session._code_verifier = "x" * 43
        with self.assertRaises(InvalidGrantError):
            session.fetch_token(
                self.metadata["token_endpoint"], authorization_response=callback, include_client_id=True)

    def test_state_of_another(self):
        self.fault(path="*/authorize", state="wrong")
        with self.assertRaises(MismatchingStateError):
            self.sign_in(self.session())

    def test_refusals(self):
        for broken, complaint in [
            ({"signature": "unknownKey"}, jwt.PyJWKClientError), ({"signature": "invalid"}, jwt.InvalidSignatureError),
            ({"claims": {"iss": "https://login.other.example"}}, jwt.InvalidIssuerError),
            ({"claims": {"aud": "another"}}, jwt.InvalidAudienceError),
        ]:
            with self.subTest(broken):
                self.break_token(**broken)
                token = self.sign_in(self.session())
                with self.assertRaises(complaint):
                    self.read(token["id_token"])

    def test_client_credentials(self):
        session = requests_oauthlib.OAuth2Session(client=BackendApplicationClient("api"))
        token = session.fetch_token(self.metadata["token_endpoint"], client_id="api", client_secret=SECRET)
        claims = self.read(token["access_token"], audience="https://api.example")
        self.assertEqual((claims["client_id"], claims["sub"]), ("api", "api"))
        with self.assertRaises(jwt.InvalidAudienceError):
            self.read(token["access_token"], audience="https://another.example")
