"""The app's settings, which are environment variables. By default, the app signs in at the real providers."""

import os
from pathlib import Path

SEED_DATA = Path(__file__).resolve().parents[2] / "seed-data"

DEFAULTS = {
    # These are the providers' addresses.
    "APPLE_BASE_URL": "https://appleid.apple.com",
    "GITHUB_BASE_URL": "https://github.com",
    "GITHUB_API_URL": "https://api.github.com",
    "GOOGLE_BASE_URL": "https://accounts.google.com",
    "FACEBOOK_BASE_URL": "https://www.facebook.com",
    "FACEBOOK_GRAPH_URL": "https://graph.facebook.com",
    # This is HOST:PORT of an emulator, or empty, as in Firebase's SDKs.
    "FIREBASE_AUTH_EMULATOR_HOST": "",
    # In containers, a browser may need another address for the providers than this app. These are the two addresses.
    "INSIDE_URL": "",
    "OUTSIDE_URL": "",
    # These are this app's registrations at the providers.
    "CALLBACK_URL": "http://localhost:3000/callback",
    "APPLE_CLIENT_ID": "com.example.web.local",
    "APPLE_TEAM_ID": "A1B2C3D4E5",
    "APPLE_KEY_ID": "ABC123DEFG",
    "APPLE_PRIVATE_KEY_FILE": str(SEED_DATA / "keys/AuthKey_ABC123DEFG.p8"),
    "GITHUB_CLIENT_ID": "Iv1.0123456789abcdef",
    "GITHUB_CLIENT_SECRET": "github-secret-for-tests",
    "GOOGLE_CLIENT_ID": "example.apps.googleusercontent.com",
    "GOOGLE_CLIENT_SECRET": "google-secret-for-tests",
    "FACEBOOK_APP_ID": "1234567890",
    "FACEBOOK_APP_SECRET": "facebook-secret-for-tests",
    "FIREBASE_PROJECT_ID": "demo-app",
    "FIREBASE_API_KEY": "demo-api-key",
}


class Settings:
    """`settings.apple_base_url` is APPLE_BASE_URL of the environment, or its default."""

    def __init__(self, environment=os.environ):
        for name, default in DEFAULTS.items():
            setattr(self, name.lower(), environment.get(name) or default)

    def for_browser(self, url):
        """Changes an address that a provider named into the one at which a browser finds the provider."""
        if self.inside_url and url.startswith(self.inside_url):
            return self.outside_url + url.removeprefix(self.inside_url)
        return url
