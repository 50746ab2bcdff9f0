"""An API whose people sign in with Google or GitHub: FastAPI and Authlib."""

import os

from authlib.integrations.starlette_client import OAuth, OAuthError
from fastapi import FastAPI, HTTPException, Request
from joserfc.errors import JoseError
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import RedirectResponse


def make_app(
    google: str = "https://accounts.google.com",
    github: str = "https://github.com",
    github_api: str = "https://api.github.com",
) -> FastAPI:
    """Makes the app. Tests can give other addresses of the providers."""
    oauth = OAuth()
    oauth.register(
        "google",
        client_id=os.environ.get("GOOGLE_CLIENT_ID", "example.apps.googleusercontent.com"),
        client_secret=os.environ.get("GOOGLE_CLIENT_SECRET", "google-secret-for-tests"),
        server_metadata_url=f"{google}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256"},
    )
    oauth.register(
        "github",
        client_id=os.environ.get("GITHUB_CLIENT_ID", "Iv1.0123456789abcdef"),
        client_secret=os.environ.get("GITHUB_CLIENT_SECRET", "github-secret-for-tests"),
        authorize_url=f"{github}/login/oauth/authorize",
        access_token_url=f"{github}/login/oauth/access_token",
        api_base_url=f"{github_api}/",
        client_kwargs={"scope": "read:user user:email"},
    )
    app = FastAPI()
    app.add_middleware(SessionMiddleware, secret_key=os.environ.get("SESSION_SECRET", "a secret of this app"))

    @app.get("/login/{provider}")
    async def login(request: Request, provider: str) -> RedirectResponse:
        request.session["provider"] = provider
        redirect: RedirectResponse = await oauth.create_client(provider).authorize_redirect(
            request, request.url_for("callback")
        )
        return redirect

    @app.get("/callback")
    async def callback(request: Request) -> RedirectResponse:
        client = oauth.create_client(request.session.get("provider", "google"))
        # Authlib 1 accepts a token for another audience if its azp is this client, unless the expected aud is given. If
        # it is given, iss must be given, too.
        claims = {
            "iss": {"values": ["https://accounts.google.com"]},
            "aud": {"essential": True, "value": client.client_id},
        }
        try:
            token = await client.authorize_access_token(request, claims_options=claims)
        except (OAuthError, JoseError) as error:
            raise HTTPException(401, error.error) from error
        if "userinfo" in token:
            request.session["email"] = token["userinfo"]["email"]
        else:
            emails = (await client.get("user/emails", token=token)).json()
            request.session["email"] = next(one["email"] for one in emails if one["primary"] and one["verified"])
        return RedirectResponse("/me")

    @app.get("/me")
    async def me(request: Request) -> "dict[str, str]":
        if "email" not in request.session:
            raise HTTPException(401, "nobody is signed in")
        return {"email": request.session["email"]}

    return app
