"""social-auth-core: the backends apple-id and github through whole sign-ins."""

import html
import pathlib
import urllib.parse

import requests
from social_core.backends.apple import AppleIdAuth
from social_core.backends.github import GithubOAuth2
from social_core.storage import BaseStorage
from social_core.strategy import BaseStrategy

from control import control

KEYS = pathlib.Path(__file__).parents[3] / "seed-data" / "keys"


class Strategy(BaseStrategy):
    """A web framework that has nothing but settings, a session and the callback's parameters."""

    def __init__(self, settings):
        super().__init__(BaseStorage)
        self.settings, self.session, self.data = settings, {}, {}

    def get_setting(self, name):
        return self.settings[name]

    def request_data(self, merge=True):
        return self.data

    def session_get(self, name, default=None):
        return self.session.get(name, default)

    def session_set(self, name, value):
        self.session[name] = value

    def session_pop(self, name):
        return self.session.pop(name, None)

    def build_absolute_uri(self, path=None):
        return path

    def request_host(self):
        return "example.com"

    def redirect(self, url):
        return url

    def authenticate(self, backend, *arguments, **keywords):
        return keywords["response"]


def sign_in(backend_class, settings, account):
    strategy = Strategy(settings)
    backend = backend_class(strategy, redirect_uri="https://example.com/callback")
    control("outcomes", provider="apple" if backend_class is AppleIdAuth else "github", outcome="approve", account=account)
    answer = requests.get(backend.start(), allow_redirects=False)
    if answer.is_redirect:
        fields = urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["Location"]).query)
    else:
        inputs = [part for part in answer.text.split("<input ") if 'type="hidden"' in part]
        fields = [tuple(html.unescape(part.split(f'{name}="')[1].split('"')[0]) for name in ("name", "value"))
                  for part in inputs]
    strategy.data = backend.data = dict(fields)
    response = backend.complete()
    return backend, response


backend, response = sign_in(
    AppleIdAuth,
    {
        "SOCIAL_AUTH_APPLE_ID_CLIENT": "com.example.web", "SOCIAL_AUTH_APPLE_ID_TEAM": "A1B2C3D4E5",
        "SOCIAL_AUTH_APPLE_ID_KEY": "ABC123DEFG", "SOCIAL_AUTH_APPLE_ID_SECRET": (KEYS / "AuthKey_ABC123DEFG.p8").read_text(),
        "SOCIAL_AUTH_APPLE_ID_SCOPE": ["email", "name"], "SOCIAL_AUTH_APPLE_ID_EMAIL_AS_USERNAME": True,
    },
    "ada",
)
assert backend.get_user_details(response)["email"] == "ada@example.com", response
backend, response = sign_in(
    GithubOAuth2,
    {
        "SOCIAL_AUTH_GITHUB_KEY": "Ov23liAutoAnswers001", "SOCIAL_AUTH_GITHUB_SECRET": "github-secret-for-tests",
        "SOCIAL_AUTH_GITHUB_SCOPE": ["user:email"],
    },
    "ada",
)
assert response["login"] == "ada" and backend.get_user_details(response)["email"] == "ada@example.com", response
print("ok")
