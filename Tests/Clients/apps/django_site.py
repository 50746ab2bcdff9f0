"""A Django site whose people sign in at an OpenID Connect issuer: at /private with mozilla-django-oidc, below /authlib with
Authlib. Says at which port it listens.

usage: django_site.py ISSUER KEY FOLDER; KEY is the PEM file of the key with which Authlib's client authenticates.
"""

import pathlib
import sys
import urllib.parse
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth, token_update
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from django.conf import settings
from joserfc.errors import JoseError

issuer, key, folder = sys.argv[1:]
discovered = requests.get(f"{issuer}/.well-known/openid-configuration").json()
settings.configure(
    SECRET_KEY="a secret of this site", ALLOWED_HOSTS=["localhost"], ROOT_URLCONF=__name__, USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {
        "ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/site.sqlite", "OPTIONS": {"timeout": 20}}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "mozilla_django_oidc"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "mozilla_django_oidc.middleware.SessionRefresh"],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    LOGIN_URL="/oidc/authenticate/", LOGIN_REDIRECT_URL="/private", LOGIN_REDIRECT_URL_FAILURE="/failed",
    LOGOUT_REDIRECT_URL="/", OIDC_OP_LOGOUT_URL_METHOD=f"{__name__}.issuer_logout", OIDC_STORE_ID_TOKEN=True,
    OIDC_RP_CLIENT_ID="mozilla", OIDC_RP_CLIENT_SECRET="openid-secret-for-tests", OIDC_RP_SIGN_ALGO="RS256",
    OIDC_USE_PKCE=True, OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS=2,
    OIDC_OP_AUTHORIZATION_ENDPOINT=discovered["authorization_endpoint"],
    OIDC_OP_TOKEN_ENDPOINT=discovered["token_endpoint"], OIDC_OP_USER_ENDPOINT=discovered["userinfo_endpoint"],
    OIDC_OP_JWKS_ENDPOINT=discovered["jwks_uri"],
)
django.setup()

from django.contrib.auth.decorators import login_required  # noqa: E402: these want the settings
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402


def issuer_logout(request):
    fields = {
        "id_token_hint": request.session["oidc_id_token"], "post_logout_redirect_uri": request.build_absolute_uri("/")}
    return f"{discovered['end_session_endpoint']}?{urllib.parse.urlencode(fields)}"


@login_required
def private(request):
    return JsonResponse({"email": request.user.email, "id_token": request.session["oidc_id_token"]})


oauth = OAuth()
oauth.register(
    "corp", client_id="authlib", client_secret=pathlib.Path(key).read_text(), client_auth_methods=[PrivateKeyJWT()],
    server_metadata_url=f"{issuer}/.well-known/openid-configuration",
    client_kwargs={
        "scope": "openid profile email groups offline_access", "code_challenge_method": "S256",
        "token_endpoint_auth_method": "private_key_jwt"},
)


def authlib_login(request):
    return oauth.corp.authorize_redirect(request, request.build_absolute_uri("/authlib/callback"))


def authlib_callback(request):
    try:
        token = oauth.corp.authorize_access_token(request)
    except (AuthlibBaseError, JoseError) as error:
        return JsonResponse({"refused": str(error)}, status=400)
    request.session["token"] = token
    return JsonResponse(token)


def authlib_userinfo(request):
    """Asks with a token that has expired as far as Authlib knows, so that it fetches another one before."""
    renewed = []

    def note(sender, token, **_):
        renewed.append(token)

    token_update.connect(note)
    userinfo = oauth.corp.userinfo(token=request.session["token"] | {"expires_at": 1})
    token_update.disconnect(note)
    return JsonResponse({"userinfo": userinfo, "renewed": renewed})


def authlib_logout(request):
    return oauth.corp.logout_redirect(
        request, request.build_absolute_uri("/authlib/bye"), id_token_hint=request.session.pop("token")["id_token"])


def authlib_bye(request):
    return JsonResponse({"bye": oauth.corp.validate_logout_response(request)["post_logout_redirect_uri"]})


urlpatterns = [
    path("", lambda request: HttpResponse("signed in" if request.user.is_authenticated else "signed out")),
    path("failed", lambda request: HttpResponse("failed", status=403)),
    path("private", private),
    path("oidc/", include("mozilla_django_oidc.urls")),
    path("authlib/login", authlib_login),
    path("authlib/callback", authlib_callback),
    path("authlib/userinfo", authlib_userinfo),
    path("authlib/logout", authlib_logout),
    path("authlib/bye", authlib_bye),
]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


call_command("migrate", verbosity=0)
with make_server("127.0.0.1", 0, get_wsgi_application(), server_class=Server, handler_class=Handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
