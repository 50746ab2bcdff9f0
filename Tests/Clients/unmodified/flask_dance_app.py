"""Flask-Dance: GitHub, Google and Facebook, in a Flask app that was told nothing of a stand-in."""

import os

import flask
import requests
from flask_dance.contrib.facebook import facebook, make_facebook_blueprint
from flask_dance.contrib.github import github, make_github_blueprint
from flask_dance.contrib.google import google, make_google_blueprint

from control import control

# The app itself is reached without TLS.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
# Google and Facebook answer with more scopes than were requested, and with other names for them.
os.environ["OAUTHLIB_RELAX_TOKEN_SCOPE"] = "1"
# The redirect URI of the built-in seed.
CALLBACK = "/callback"

facebook_blueprint = make_facebook_blueprint(
    "1234567890", "facebook-secret-for-tests", scope=["email"], authorized_url=CALLBACK, redirect_to="who")
BLUEPRINTS = {
    "github": make_github_blueprint(
        "Iv1.0123456789abcdef", "github-secret-for-tests", scope="user:email", authorized_url=CALLBACK,
        redirect_to="who"),
    "google": make_google_blueprint(
        "example.apps.googleusercontent.com", "google-secret-for-tests", authorized_url=CALLBACK, redirect_to="who",
        scope=["openid", "https://www.googleapis.com/auth/userinfo.email"]),
    "facebook": facebook_blueprint,
}
PEOPLE = {
    "github": lambda: github.get("/user").json()["login"],
    "google": lambda: google.get("/oauth2/v1/userinfo").json()["email"],
    "facebook": lambda: facebook.get("/me?fields=name,email").json()["email"],
}

for name, blueprint in BLUEPRINTS.items():
    app = flask.Flask(__name__)
    app.secret_key = "for tests"
    app.register_blueprint(blueprint)
    app.add_url_rule("/who", "who", PEOPLE[name])
    browser = app.test_client()
    site = "http://localhost:3000"
    control("outcomes", provider=name, outcome="approve", account="ada")
    address = browser.get(f"/{name}", base_url=site).headers["Location"]
    assert address.startswith("https://"), address
    back = requests.get(address, allow_redirects=False).headers["Location"]
    assert back.startswith(f"{site}{CALLBACK}?"), back
    done = browser.get(back.removeprefix(site).removesuffix("#_=_"), base_url=site)
    assert done.headers["Location"] == "/who", done.text
    person = browser.get("/who", base_url=site)
    assert person.text in ("ada", "ada@example.com"), person.text
print("ok")
