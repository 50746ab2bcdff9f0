"""The app's pages. Every text from outside is escaped."""

import json
from html import escape
from pathlib import Path

from providers import MISTAKES, PROVIDERS
from tokens import decoded

STYLE = (Path(__file__).parent / "style.css").read_text()


def page(title, content):
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><a href="/">The example</a><span>a web app whose people sign in elsewhere</span></header>
<main>{content}</main>
</body>
</html>
"""


def home(recording):
    buttons = "".join(
        f'<button name="provider" value="{name}" class="{name}">Sign in with {escape(one.title)}</button>'
        for name, one in PROVIDERS.items())
    mistakes = "".join(f'<option value="{name}">{escape(text)}</option>' for name, text in MISTAKES.items())
    return page("The example", f"""
<h1>Sign in</h1>
<p>Whoever signs in is asked at the provider's own page, and comes back here.</p>
<form action="/begin" method="post">
<div class="buttons">{buttons}</div>
<label for="mistake">The app makes</label>
<select id="mistake" name="mistake">{mistakes}</select>
<p class="soft">A mistake shows what the provider says to it, and why. Not every provider asks for all that can be wrong.</p>
</form>
{link(recording)}""")


def link(recording):
    return f'<p class="soft">What the daemon saw: <a href="{escape(recording)}">{escape(recording)}</a></p>' if recording else ""


def table(rows):
    return "<table>" + "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(value if isinstance(value, str) else json.dumps(value))}</td></tr>"
        for name, value in rows) + "</table>"


def calls(sign_in):
    """Lists the app's requests to the provider, with the answers."""
    if not sign_in.calls:
        return ""
    # A query may hold an access token.
    rows = "".join(
        f'<li><code>{method}</code> <span class="address">{escape(url.partition("?")[0])}</span> '
        f'<strong class="{"good" if status < 400 else "bad"}">{status}</strong></li>'
        for method, url, status in sign_in.calls)
    return f"<h2>What the app asked</h2><ol class=\"calls\">{rows}</ol>"


def token(name, text):
    parts = ""
    if name == "ID token":
        header, claims = decoded(text)
        parts = "".join(
            f"<h3>{title}</h3><pre>{escape(json.dumps(part, indent=2, ensure_ascii=False))}</pre>"
            for title, part in [("Header", header), ("Claims", claims)])
        signature = "a signature, which this app has verified" if header["alg"] != "none" else "no signature, as in an emulator"
        parts += f'<p class="soft">Then {signature}.</p>'
    return f"""<details{" open" if parts else ""}><summary>{escape(name[0].upper() + name[1:])}</summary>
{parts}<h3>As it came</h3><pre class="raw">{escape(text)}</pre></details>"""


def signed_in(sign_in, recording):
    tokens = "".join(token(name, text) for name, text in sign_in.tokens.items())
    return page("Signed in", f"""
<p class="kicker">{escape(sign_in.title)}</p>
<h1>Hello, {escape(sign_in.name or "whoever you are")}</h1>
<form action="/leave" method="post"><button class="quiet">Sign out</button></form>
<h2>What {escape(sign_in.title)} says of you</h2>
{table(sign_in.claims.items())}
<h2>Tokens</h2>
{tokens}
{calls(sign_in)}
{link(recording)}""")


def refused(title, problem, sign_in, recording):
    reason = f'<h2>Why</h2><p class="reason">{escape(problem.reason)}</p>' if problem.reason else ""
    return page("Not signed in", f"""
<p class="kicker">{escape(title)}</p>
<h1>That didn't work</h1>
<h2>What was said</h2>
<pre>{escape(problem.said)}</pre>
{reason}
<p><a class="button" href="/">Try again</a></p>
{calls(sign_in) if sign_in else ""}
{link(recording)}""")
