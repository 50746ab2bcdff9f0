"""OpenID Connect with the clients of vendors, at addresses laid out as theirs: python-keycloak, and pyoidc at any."""

import jwt
from jwkest import BadSignature
from keycloak import KeycloakOpenID
from keycloak.exceptions import KeycloakAuthenticationError, KeycloakPostError
from oic.exception import PyoidcError
from oic.oic import Client
from oic.oic.message import AuthorizationResponse, RegistrationResponse
from oic.utils.authn.client import CLIENT_AUTHN_METHOD

from issuer import SECRET, Browser, IssuerTestCase, query

CALLBACK = "https://app.example/callback"
ENDPOINTS = "/protocol/openid-connect"


class Keycloak(IssuerTestCase):
    """python-keycloak knows Keycloak's paths by heart, and is given no more than the server and the realm."""

    more = {
        "issuer": "http://localhost:8080/realms/demo", "refreshTokens": "always",
        "paths": {
            "authorization": f"{ENDPOINTS}/auth", "token": f"{ENDPOINTS}/token", "userInfo": f"{ENDPOINTS}/userinfo",
            "keys": f"{ENDPOINTS}/certs", "endSession": f"{ENDPOINTS}/logout",
            "introspection": f"{ENDPOINTS}/token/introspect", "deviceAuthorization": f"{ENDPOINTS}/auth/device"},
    }

    @classmethod
    def clients(cls):
        return [{"clientID": "app", "clientSecret": SECRET, "redirectURIs": [CALLBACK]}]

    def setUp(self):
        super().setUp()
        self.client = KeycloakOpenID(
            server_url=f"{self.daemon.url}/", realm_name="demo", client_id="app", client_secret_key=SECRET)

    def sign_in(self, scope="openid email"):
        address = self.client.auth_url(redirect_uri=CALLBACK, scope=scope, state="s", nonce="n")
        fields = query(Browser().get(address, until=CALLBACK))
        return self.client.token(grant_type="authorization_code", code=fields["code"], redirect_uri=CALLBACK)

    def test_sign_in(self):
        issuer = f"{self.daemon.url}/realms/demo"
        self.assertEqual(self.client.well_known()["issuer"], issuer)
        token = self.sign_in()
        keys = jwt.PyJWKSet.from_dict(self.client.certs())
        claims = jwt.decode(token["id_token"], keys.keys[0].key, algorithms=["RS256"], audience="app", issuer=issuer)
        self.assertEqual((claims["email"], claims["nonce"]), ("ada@example.com", "n"))
        self.assertEqual(self.client.userinfo(token["access_token"])["sub"], claims["sub"])
        self.assertTrue(self.client.introspect(token["access_token"])["active"])

    def test_logout(self):
        """Checks that a logout with the refresh token ends the session, and that neither token works any more."""
        for scope in ["openid", "openid offline_access"]:
            token = self.sign_in(scope)
            self.client.logout(token["refresh_token"])
            with self.assertRaises(KeycloakPostError) as caught:
                self.client.refresh_token(token["refresh_token"])
            self.assertEqual(caught.exception.response_code, 400)
            self.assertIn(b"invalid_grant", caught.exception.response_body)
            with self.assertRaises(KeycloakAuthenticationError):
                self.client.userinfo(token["access_token"])
            with self.assertRaises(KeycloakPostError):
                self.client.logout(token["refresh_token"])

    def test_device(self):
        device = self.client.device()
        self.assertTrue(device["verification_uri"].startswith(f"{self.daemon.url}/realms/demo/"))


class PyOIDC(IssuerTestCase):
    """pyoidc, which verifies ID tokens by whatever algorithm it is registered with."""

    more = {"algorithms": ["RS256", "HS256", "ES384", "PS512"]}
    secret = f"{SECRET}, with 32 bytes or more"

    @classmethod
    def clients(cls):
        common = {"clientSecret": cls.secret, "redirectURIs": [CALLBACK]}
        return [{"clientID": name, "idTokenAlgorithm": name} | common for name in cls.more["algorithms"]]

    def sign_in(self, algorithm):
        client = Client(client_authn_method=CLIENT_AUTHN_METHOD)
        client.provider_config(self.issuer)
        client.store_registration_info(RegistrationResponse(
            client_id=algorithm, client_secret=self.secret, redirect_uris=[CALLBACK],
            id_token_signed_response_alg=algorithm))
        request = client.construct_AuthorizationRequest(request_args={
            "client_id": algorithm, "response_type": "code", "scope": ["openid", "email"], "nonce": "n", "state": "s",
            "redirect_uri": CALLBACK})
        callback = Browser().get(request.request(client.authorization_endpoint), until=CALLBACK)
        answer = client.parse_response(
            AuthorizationResponse, info=callback.split("?", 1)[1], sformat="urlencoded")
        token = client.do_access_token_request(
            state="s", request_args={"code": answer["code"]}, authn_method="client_secret_basic")
        return client, token["id_token"]

    def test_algorithms(self):
        for algorithm in self.more["algorithms"]:
            with self.subTest(algorithm):
                client, claims = self.sign_in(algorithm)
                self.assertEqual((claims["iss"], claims["nonce"]), (self.issuer, "n"))
                self.assertEqual(claims.jws_header["alg"], algorithm)
                self.assertEqual(client.do_user_info_request(state="s")["sub"], claims["sub"])

    def test_broken_signatures(self):
        for algorithm in self.more["algorithms"]:
            with self.subTest(algorithm), self.assertRaises(BadSignature):
                self.break_token(signature="invalid")
                self.sign_in(algorithm)

    def test_userinfo_of_another(self):
        """OpenID Connect Core 5.3.2: the sub must be the ID token's."""
        client, _ = self.sign_in("RS256")
        self.fault(path="/userinfo", token={"claims": {"sub": "somebody-else"}})
        with self.assertRaises(PyoidcError):
            client.do_user_info_request(state="s")
