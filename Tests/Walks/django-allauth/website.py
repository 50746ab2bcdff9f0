"""A Django site whose people sign in with Apple, GitHub, Google and Facebook, by django-allauth.

usage: website.py PORT DATABASE
"""

import os
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

PORT, DATABASE = sys.argv[1:]
KEY = Path(__file__).parents[3] / "seed-data/keys/AuthKey_ABC123DEFG.p8"

providers = {
    "apple": {"APP": {
        "client_id": "com.example.shop", "secret": "ABC123DEFG", "key": "A1B2C3D4E5",
        "settings": {"certificate_key": KEY.read_text()}}},
    "github": {
        "SCOPE": ["user:email"],
        "APP": {"client_id": "Iv1.shop", "secret": os.environ.get("GITHUB_SECRET", "github-secret-for-tests")}},
    "google": {
        "SCOPE": ["openid", "email", "profile"], "OAUTH_PKCE_ENABLED": True,
        "APP": {"client_id": "shop.apps.googleusercontent.com", "secret": "google-secret-for-tests"}},
    "facebook": {"METHOD": "oauth2", "APP": {"client_id": "9876543210", "secret": "facebook-secret-for-tests"}},
}

# allauth's settings lead to the daemon only if neither a proxy nor the host names do.
daemon = os.environ.get("PROVIDERS_AT")
if daemon:
    providers["github"]["GITHUB_URL"] = f"{daemon}/github.com"
    providers["google"] |= {
        "AUTHORIZE_URL": f"{daemon}/accounts.google.com/o/oauth2/v2/auth",
        "ACCESS_TOKEN_URL": f"{daemon}/oauth2.googleapis.com/token",
        "IDENTITY_URL": f"{daemon}/www.googleapis.com/oauth2/v2/userinfo",
        "CERTS_URL": f"{daemon}/www.googleapis.com/oauth2/v1/certs"}
    providers["facebook"] |= {
        "AUTHORIZE_URL": f"{daemon}/www.facebook.com/v19.0/dialog/oauth",
        "GRAPH_API_URL": f"{daemon}/graph.facebook.com/v19.0"}

settings.configure(
    SECRET_KEY="a secret of this site", ALLOWED_HOSTS=["localhost"], ROOT_URLCONF=__name__, USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATABASE, "OPTIONS": {"timeout": 20}}},
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
        "allauth", "allauth.account", "allauth.socialaccount",
        *(f"allauth.socialaccount.providers.{name}" for name in providers)],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware", "allauth.account.middleware.AccountMiddleware"],
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages"]}}],
    EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    LOGIN_REDIRECT_URL="/", ACCOUNT_LOGOUT_REDIRECT_URL="/", ACCOUNT_EMAIL_VERIFICATION="none",
    SOCIALACCOUNT_PROVIDERS=providers,
)
django.setup()

from allauth.socialaccount.models import SocialAccount  # noqa: E402: these want the settings
from allauth.socialaccount.providers.apple.views import AppleOAuth2Adapter  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402

if daemon:
    # Apple's addresses are no settings of allauth.
    for name in ["authorize", "access_token", "public_key"]:
        attribute = f"{name}_url"
        setattr(AppleOAuth2Adapter, attribute, f"{daemon}/{getattr(AppleOAuth2Adapter, attribute).removeprefix('https://')}")


def home(request):
    """Answers with the person who is signed in, and the accounts at providers."""
    accounts = SocialAccount.objects.filter(user=request.user) if request.user.is_authenticated else []
    return JsonResponse({
        "user": request.user.pk, "name": getattr(request.user, "first_name", ""),
        "accounts": sorted(account.provider for account in accounts)})


urlpatterns = [path("", home), path("accounts/", include("allauth.urls"))]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


call_command("migrate", verbosity=0)
with make_server("127.0.0.1", int(PORT), get_wsgi_application(), server_class=Server, handler_class=Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
