"""OpenID Connect with the clients of vendors, at addresses laid out as theirs: python-keycloak, msal, and pyoidc at any."""

import jwt
import msal
import requests
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
        """The refresh token ends the session: neither token works any more."""
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


class UnderRealName(requests.adapters.HTTPAdapter):
    """Leads a name that can't be looked up to the daemon, as a proxy would."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon = daemon

    def send(self, request, **options):
        address = requests.compat.urlsplit(request.url)
        request.headers["Host"] = address.netloc
        request.url = address._replace(scheme="http", netloc=f"localhost:{self.daemon.port}").geturl()
        answer = super().send(request, **options)
        answer.url = address.geturl()
        return answer


class MSAL(IssuerTestCase):
    """msal at Entra's addresses: endpoints beside the issuer's path, and `common`, which names no tenant."""

    entra = "https://login.microsoftonline.com"
    more = {
        "issuer": f"{entra}/t1/v2.0", "issuerFollowsRequest": False, "claims": {"tid": "t1", "ver": "2.0"},
        "alsoAt": [{"path": "/common/v2.0", "issuer": entra + "/{tenantid}/v2.0"}],
        "paths": {
            "authorization": "../oauth2/v2.0/authorize", "token": "../oauth2/v2.0/token", "keys": "../discovery/v2.0/keys",
            "endSession": "../oauth2/v2.0/logout", "deviceAuthorization": "../oauth2/v2.0/devicecode"},
    }

    @classmethod
    def clients(cls):
        return [
            {"clientID": "app", "clientSecret": SECRET, "redirectURIs": [CALLBACK]},
            {"clientID": "desktop", "redirectURIs": [CALLBACK]},
        ]

    def session(self):
        session = requests.Session()
        session.mount(self.entra, UnderRealName(self.daemon))
        return session

    def application(self, tenant):
        return msal.ConfidentialClientApplication(
            "app", client_credential=SECRET, authority=f"{self.entra}/{tenant}", instance_discovery=False,
            http_client=self.session())

    def test_sign_in_and_refresh(self):
        for tenant in ["t1", "common"]:
            with self.subTest(tenant):
                application = self.application(tenant)
                flow = application.initiate_auth_code_flow(["User.Read"], redirect_uri=CALLBACK)
                self.assertTrue(flow["auth_uri"].startswith(f"{self.entra}/{tenant}/oauth2/v2.0/authorize?"))
                browser = Browser()
                browser.session = self.session()
                answer = query(browser.get(flow["auth_uri"], until=CALLBACK))
                result = application.acquire_token_by_auth_code_flow(flow, answer)
                self.assertNotIn("error", result)
                claims = result["id_token_claims"]
                self.assertEqual(
                    (claims["iss"], claims["tid"], claims["aud"]), (f"{self.entra}/t1/v2.0", "t1", "app"))
                account = application.get_accounts()[0]
                renewed = application.acquire_token_silent_with_error(["User.Read"], account, force_refresh=True)
                self.assertNotEqual(renewed["access_token"], result["access_token"])

    def test_refusal(self):
        application = self.application("t1")
        flow = application.initiate_auth_code_flow([], redirect_uri=CALLBACK)
        self.fault(path="*/token", error="invalid_grant", description="AADSTS54005: already redeemed")
        browser = Browser()
        browser.session = self.session()
        result = application.acquire_token_by_auth_code_flow(
            flow, query(browser.get(flow["auth_uri"], until=CALLBACK)))
        self.assertEqual(result["error"], "invalid_grant")

    def test_client_credentials(self):
        result = self.application("t1").acquire_token_for_client(["https://graph.microsoft.com/.default"])
        self.assertEqual(result["token_type"], "Bearer")

    def fault(self, times=1, path="*", **effect):
        self.daemon.control(
            "faults", match={"host": "login.microsoftonline.com", "path": path}, times=times, effect=effect)


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
