"""A simple browser that follows a sign-in back to the app: it handles redirects, cookies and posted answers."""

from __future__ import annotations

import html.parser
import http.client
import http.cookiejar
import ipaddress
import re
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._transport import TIMEOUT, Stay
from .errors import PageError, UnderstudyError, is_told_by_its_message

__tracebackhide__ = is_told_by_its_message

_STEPS = 20
_PROVIDERS = {
    "appleid.apple.com": "apple",
    "github.com": "github",
    "www.facebook.com": "facebook",
    "login.microsoftonline.com": "microsoft",
    "accounts.google.com": "google",
}


@dataclass(frozen=True)
class Callback:
    """The end of a sign-in: the request that the browser makes to the app."""

    method: str
    """The request's method: `GET`, or `POST` if the provider posts its answer, as Apple does with `form_post`."""
    url: str
    """The request's address, with its query."""
    form: Dict[str, str]
    """The fields of the posted form."""

    @property
    def fields(self) -> Dict[str, str]:
        """The provider's parameters (`code`, `state`, `error`…) from the query, the fragment and the form."""
        parts = urllib.parse.urlsplit(self.url)
        given = [pair for part in (parts.query, parts.fragment) for pair in urllib.parse.parse_qsl(part)]
        return {**dict(given), **self.form}

    @property
    def path(self) -> str:
        """The address without scheme, host and fragment, for test clients that take a path."""
        return urllib.parse.urlunsplit(("", "", *urllib.parse.urlsplit(self.url)[2:4], ""))


def follow(
    url: str,
    proxy: Optional[str] = None,
    certificates: Optional[str] = None,
    waiting: Callable[[], List[str]] = list,
) -> Callback:
    """Follows a sign-in from a provider's authorization URL to the address at which the app gets the answer.

    It stops at the first address of another server than the URL's, without requesting it.

    Args:
        url: The address to which the app sends the browser.
        proxy: The HTTP proxy to use if the URL is the real provider's.
        certificates: A file with the certificates to trust. By default they are the system's.
        waiting: A function that describes the outcomes that still wait, for an error message.

    Raises:
        PageError: The sign-in ends at a page: the provider refuses, or no outcome was ordered.
        UnderstudyError: Nobody answers.
        ValueError: The URL is invalid.
    """
    if not re.match(r"https?://[^/]", url):
        raise ValueError(f"{url!r} isn't an address that a browser goes to")
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    handlers: List[urllib.request.BaseHandler] = [
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPCookieProcessor(_jar()),
        Stay(),
    ]
    if url.startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificates)))
    opener = urllib.request.build_opener(*handlers)
    origin = _origin(url)
    form: Optional[Dict[str, str]] = None
    for _ in range(_STEPS):
        if _origin(url) != origin:
            return Callback("GET" if form is None else "POST", url, form or {})
        data = None if form is None else urllib.parse.urlencode(form).encode()
        status, header, page = _open(opener, url, data)
        answer = _AnswerForm(page)
        if "Location" in header:
            url, form = urllib.parse.urljoin(url, header["Location"]), None
        elif answer.action is not None:
            url, form = urllib.parse.urljoin(url, answer.action), dict(answer.fields)
        else:
            raise PageError(url, status, header.get("Understudy-Diagnosis"), _advice(url, waiting()))
    raise PageError(url, 310, None, "it leads in circles")


def _advice(url: str, waiting: List[str]) -> str:
    if waiting:
        client = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)).get("client_id")
        mine = f", which {client} has begun" if client else ""
        return f"it asks the person, since no outcome that waits is for this sign-in{mine}: {' '.join(waiting).rstrip(',')}"
    provider = next((name for host, name in _PROVIDERS.items() if host in url.partition("?")[0]), "openid")
    return (
        "it asks the person. Order what they do before they go there: "
        f'world.order("{provider}", "approve", account="ada")'
    )


def _origin(url: str) -> Tuple[str, Optional[str], Optional[int]]:
    parts = urllib.parse.urlsplit(url)
    # HOST.WORLD.localhost is also an address of the daemon.
    host = "localhost" if (parts.hostname or "").endswith(".localhost") else parts.hostname
    return parts.scheme, host, parts.port


def _jar() -> http.cookiejar.CookieJar:
    # Browsers send Secure cookies to http://localhost, too, and so does this one.
    policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))
    return http.cookiejar.CookieJar(policy)


def _open(opener: urllib.request.OpenerDirector, url: str, data: Optional[bytes]) -> Tuple[int, Any, str]:
    try:
        try:
            answer = opener.open(urllib.request.Request(url, data), timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise UnderstudyError(f"nobody answers at {url}: {str(reason) or type(reason).__name__}") from None


def has_address(host: str) -> bool:
    """Whether a host's name has an address."""
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def is_public(host: str) -> bool:
    """Whether a host has a public address on the Internet, which a test's daemon never has."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return any(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_global for one in found)


class _AnswerForm(html.parser.HTMLParser):
    """A parser that finds the form that a page's script submits."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action: Optional[str] = None
        self.fields: List[Tuple[str, str]] = []
        self._is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, pairs: List[Tuple[str, Optional[str]]]) -> None:
        attributes = dict(pairs)
        if tag == "form" and attributes.get("id") == "answer":
            self.action, self._is_inside = attributes.get("action") or "", True
        elif tag == "input" and self._is_inside and attributes.get("name"):
            self.fields.append((str(attributes["name"]), attributes.get("value") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_inside = False
