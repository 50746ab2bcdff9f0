"""httpx-oauth, as fastapi-users uses it: Google, whom the People API names, a refresh and a revocation."""

import asyncio

import httpx
from httpx_oauth.clients.google import GoogleOAuth2
from httpx_oauth.exceptions import GetIdEmailError
from httpx_oauth.oauth2 import GetAccessTokenError

from control import control

CALLBACK = "http://localhost:3000/callback"


async def code(client, verifier=None):
    control("outcomes", provider="google", outcome="approve", account="ada")
    address = await client.get_authorization_url(
        CALLBACK, state="s", extras_params={"access_type": "offline", "prompt": "consent"},
        **({"code_challenge": verifier, "code_challenge_method": "plain"} if verifier else {}))
    async with httpx.AsyncClient() as browser:
        back = httpx.URL((await browser.get(address)).headers["Location"])
    assert back.params["state"] == "s", back
    return back.params["code"]


async def main():
    client = GoogleOAuth2("example.apps.googleusercontent.com", "google-secret-for-tests")
    verifier = "v" * 43
    token = await client.get_access_token(await code(client, verifier), CALLBACK, code_verifier=verifier)
    person, email = await client.get_id_email(token["access_token"])
    assert person.startswith("people/1") and email == "ada@example.com", (person, email)
    renewed = await client.refresh_token(token["refresh_token"])
    assert await client.get_id_email(renewed["access_token"]) == (person, email)
    await client.revoke_token(token["refresh_token"])
    try:
        await client.get_id_email(renewed["access_token"])
        raise AssertionError("a revoked token works")
    except GetIdEmailError as error:
        assert error.response.status_code == 401, error.response.text
    wrong = GoogleOAuth2("example.apps.googleusercontent.com", "wrong")
    try:
        await wrong.get_access_token(await code(wrong), CALLBACK)
        raise AssertionError("a wrong secret is taken")
    except GetAccessTokenError as error:
        assert error.response.json() == {"error": "invalid_client", "error_description": "Unauthorized"}


asyncio.run(main())
print("ok")
