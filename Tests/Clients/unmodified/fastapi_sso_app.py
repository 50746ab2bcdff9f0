"""fastapi-sso: Google by discovery, GitHub and Facebook, in a FastAPI app that was told nothing."""

import requests
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from fastapi_sso.sso.facebook import FacebookSSO
from fastapi_sso.sso.github import GithubSSO
from fastapi_sso.sso.google import GoogleSSO

from control import control

app = FastAPI()
CALLBACK = "http://localhost:3000/callback"
LIBRARIES = {
    "google": (GoogleSSO, "example.apps.googleusercontent.com", "google-secret-for-tests"),
    "github": (GithubSSO, "Iv1.0123456789abcdef", "github-secret-for-tests"),
    "facebook": (FacebookSSO, "1234567890", "facebook-secret-for-tests"),
}
using = None


def library():
    kind, client, secret = LIBRARIES[using]
    return kind(client, secret, CALLBACK, allow_insecure_http=True)


@app.get("/login")
async def login():
    async with library() as sso:
        return await sso.get_login_redirect()


@app.get("/callback")
async def callback(request: Request):
    async with library() as sso:
        return await sso.verify_and_process(request)


for using in LIBRARIES:
    browser = TestClient(app, base_url="http://localhost:3000")
    control("outcomes", provider=using, outcome="approve", account="ada")
    address = browser.get("/login", follow_redirects=False).headers["Location"]
    assert address.startswith("https://"), address
    back = requests.get(address, allow_redirects=False).headers["Location"]
    assert back.startswith(f"{CALLBACK}?"), back
    person = browser.get(back)
    assert person.status_code == 200, person.text
    assert person.json()["email"] == "ada@example.com" and person.json()["provider"] == using, person.text
print("ok")
