"""A Django site whose people sign in with Apple, GitHub and Google, by django-allauth. Nothing here is for tests alone but the
secrets, which are those of seed.json."""

import os
from pathlib import Path

# This is the key that a developer downloads from Apple. Here it is the test key of Understudy's built-in seed.
KEY = Path(__file__).parents[4] / "seed-data/keys/AuthKey_ABC123DEFG.p8"

SECRET_KEY = "a secret of this site"
ALLOWED_HOSTS = ["localhost"]
ROOT_URLCONF = "site_urls"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite"}}
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.apple",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.google",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_REDIRECT_URL = "/"
ACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_PROVIDERS = {
    "apple": {
        "APP": {
            "client_id": "com.example.shop",
            "secret": "ABC123DEFG",
            "key": "A1B2C3D4E5",
            "settings": {"certificate_key": KEY.read_text()},
        }
    },
    "github": {
        "SCOPE": ["user:email"],
        "APP": {"client_id": "Iv1.shop", "secret": os.environ.get("GITHUB_SECRET", "github-secret-for-tests")},
    },
    "google": {
        "SCOPE": ["openid", "email", "profile"],
        "OAUTH_PKCE_ENABLED": True,
        "APP": {
            "client_id": "shop.apps.googleusercontent.com",
            "secret": os.environ.get("GOOGLE_SECRET", "google-secret-for-tests"),
        },
    },
}
