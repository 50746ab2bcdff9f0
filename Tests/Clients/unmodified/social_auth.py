"""social-auth-core: the backends apple-id and github through whole sign-ins."""

import html
import pathlib
import urllib.parse

import requests
from social_core.backends.apple import AppleIdAuth
from social_core.backends.github import GithubOAuth2

from control import control
from social_strategy import Strategy

KEYS = pathlib.Path(__file__).parents[3] / "seed-data" / "keys"


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
