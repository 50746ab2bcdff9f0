"""A world, which is the sandbox of one test."""

from __future__ import annotations

import fnmatch
import inspect
import re
import urllib.parse
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Type

from ._transport import Transport
from .accounts import Accounts
from .apple import Apple
from .clock import Clock
from .errors import ControlError, UnderstudyError, is_told_by_its_message
from .inbox import Inbox
from .orders import Ordering, described
from .person import Callback, follow, has_address, is_public
from .providers import Facebook, GitHub, Google, Microsoft, OpenID
from .recording import Recording
from .scenarios import Scenarios
from .tokens import Tokens
from .values import JSONObject

if TYPE_CHECKING:
    from .daemon import Understudy

__tracebackhide__ = is_told_by_its_message

_SCRIPTS = re.compile(r"^https://(accounts\.google\.com/gsi/client|appleid\.cdn-apple\.com/|connect\.facebook\.net/)")


class MailServer(NamedTuple):
    """The address at which a world receives mail."""

    host: str
    port: int


class World(Ordering, Recording, Inbox):
    """A sandbox in a daemon, with its own people, codes, tokens, clock, orders, inbox and recording.

    It is made from the daemon's seed when it is first used. In a `with` statement, it is deleted at the end of the block.
    """

    def __init__(self, understudy: Understudy, name: Optional[str]) -> None:
        self.daemon = understudy
        """The daemon that holds the world."""
        self._is_unnamed = name is None
        self._name = name
        self.url = understudy.url if name is None else f"{understudy.url}/~{name}"
        """The world's URL, without a slash at the end: `http://localhost:9099/~checkout`."""
        self._transport = understudy.transport_to(self.url)
        self.clock = Clock(self._transport)
        """The world's clock."""
        self.accounts = Accounts(self._transport)
        """The people who can sign in."""
        self.tokens = Tokens(self._transport)
        """The tools for minting ID tokens without a sign-in, and for revoking tokens."""
        self.scenarios = Scenarios(self._transport)
        """The scenarios, which are ready-made situations."""
        self.apple = Apple(self._transport)
        """Native sign-ins with Apple, notifications, revocations and the private relay."""
        self.google = Google(self._transport)
        """Native sign-ins with Google, security events, and removals of apps at Google."""
        self.facebook = Facebook(self._transport)
        """Native sign-ins with Facebook, and removals of apps at Facebook."""
        self.microsoft = Microsoft(self._transport)
        """Removals of apps at Microsoft."""
        self.github = GitHub(self._transport)
        """Removals of apps at GitHub, and sign-outs there."""
        self.openid = OpenID(self._transport)
        """Removals of apps at OpenID Connect issuers, sign-outs there, and clients that have registered themselves."""

    def __enter__(self) -> World:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.delete()

    def __repr__(self) -> str:
        return f"<World {self.url}>"

    # Addresses

    @property
    def name(self) -> str:
        """The world's name. The daemon decides the name of the world of requests that name none: `default`, or the name
        that
        `exec --world` gave it."""
        if self._name is None:
            self._name = str(self._transport.json("GET", "")["world"])
        return self._name

    @property
    def control_url(self) -> str:
        """The URL of the world's control API."""
        return f"{self.url}/_understudy/v1"

    def host_url(self, host: str) -> str:
        """Returns the URL that stands for `https://HOST`: `world.host_url("github.com")`."""
        return f"{self.url}/{host}"

    def route_scripts(self, page: Any) -> Any:
        """Makes a page load the scripts of Sign in with Apple JS, Google Identity Services and Facebook's SDK from this
        world.

        Args:
            page: A page or a context of Playwright. With Playwright's asynchronous API, await the result of this
                method.
        """

        def address(route: Any) -> str:
            return f"{self.url}/{route.request.url.split('://', 1)[1]}"

        def lead(route: Any) -> None:
            route.fulfill(response=route.fetch(url=address(route)))

        async def lead_asynchronously(route: Any) -> None:
            await route.fulfill(response=await route.fetch(url=address(route)))

        return page.route(_SCRIPTS, lead_asynchronously if inspect.iscoroutinefunction(page.route) else lead)

    @property
    def port_url(self) -> str:
        """Returns the world's address at its own port, such as `http://localhost:43123`. The first call opens the port.

        It is for clients that take only a host and a port. A daemon has at most 128 such ports.
        """
        return str(self._own_ports(listen=0)["url"])

    @property
    def firebase_emulator_host(self) -> str:
        """Returns host and port in the form of `FIREBASE_AUTH_EMULATOR_HOST`, for Firebase's SDKs. Opens the world's
        own port."""
        return urllib.parse.urlsplit(self.port_url).netloc

    def smtp(self) -> MailServer:
        """Returns the world's own address for mail: `smtplib.SMTP(*world.smtp())`. The first call opens the port.

        Raises:
            ControlError: The daemon receives no mail (`noSMTP`).
        """
        host, _, port = str(self._own_ports(smtp=0)["smtp"]).rpartition(":")
        return MailServer(host, int(port))

    @property
    def proxy_url(self) -> Optional[str]:
        """The proxy that leads requests to the real providers' addresses to this world, or `None` if the daemon has no
        proxy."""
        proxy = self.daemon.proxy_url
        if proxy is None:
            return None
        # Python's own client sends a user name only together with a password. Any password will do.
        parts = urllib.parse.urlsplit(proxy)
        return f"{parts.scheme}://{self.name}:any@{parts.hostname}:{parts.port}"

    def proxy_environment(self) -> Dict[str, str]:
        """Returns variables that lead a program's requests to the real providers' addresses to this world: the proxy,
        in all
        spellings, and files with the certificates to trust.

        Raises:
            UnderstudyError: The daemon has no proxy.
        """
        proxy = self.proxy_url
        if proxy is None:
            raise UnderstudyError("the daemon has no proxy: start it with --proxy-port 0")
        variables = {name: proxy for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")}
        exceptions = {name: "localhost,127.0.0.1,::1" for name in ("NO_PROXY", "no_proxy")}
        return {**variables, **exceptions, **self.daemon.trust}

    def environment(self) -> Dict[str, str]:
        """Returns the variables that `understudy exec` sets, for a program that a test starts and that uses this world.

        It opens the world's own ports for HTTP and for mail.
        """
        at = self.host_url
        variables = {
            "UNDERSTUDY_URL": self.url,
            "UNDERSTUDY_CONTROL_URL": self.control_url,
            "APPLE_BASE_URL": at("appleid.apple.com"),
            "GITHUB_BASE_URL": at("github.com"),
            "GITHUB_API_URL": at("api.github.com"),
            "GOOGLE_BASE_URL": at("accounts.google.com"),
            "GOOGLE_TOKEN_URL": at("oauth2.googleapis.com/token"),
            "FACEBOOK_BASE_URL": at("www.facebook.com"),
            "FACEBOOK_GRAPH_URL": at("graph.facebook.com"),
            "MICROSOFT_BASE_URL": at("login.microsoftonline.com"),
            "MICROSOFT_GRAPH_URL": at("graph.microsoft.com"),
            "FIREBASE_AUTH_EMULATOR_HOST": self.firebase_emulator_host,
        }
        if self.daemon.control_token:
            variables["UNDERSTUDY_CONTROL_TOKEN"] = self.daemon.control_token
        if self.proxy_url:
            variables["UNDERSTUDY_PROXY_URL"] = self.proxy_url
        try:
            mail = self.smtp()
            variables.update(UNDERSTUDY_SMTP_HOST=mail.host, UNDERSTUDY_SMTP_PORT=str(mail.port))
        except ControlError as error:
            if error.code != "noSMTP":
                raise
        return variables

    def _own_ports(self, **ports: int) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._transport.json("POST", "worlds", {"name": self.name, **ports})
        return answer

    # The world itself

    def follow(self, url: str) -> Callback:
        """Follows a sign-in from the address to which the app sends the browser. Returns the request that leads back to
        the app, without sending it.

        First order what the person does: `world.order("google", "approve", account="ada")`.

        Raises:
            PageError: The sign-in ends at a page, because the provider refuses or asks the person.
            UnderstudyError: Nothing answers, or the address is the real provider's.
        """
        host = urllib.parse.urlsplit(url).hostname or ""
        if f".{host}".endswith(".localhost") or host == urllib.parse.urlsplit(self.url).hostname:
            return follow(url, waiting=self._waiting_outcomes)
        # If a provider's name has this machine's address, requests to it are intercepted. Without DNS it has no
        # address.
        is_real = is_public(host) or (not has_address(host) and self._plays(host))
        if self.proxy_url is None and is_real:
            raise UnderstudyError(f"the app leads to the real {host}, not to {self.host_url(host)}: lead it there")
        return follow(url, self.proxy_url, self.daemon.trust.get("SSL_CERT_FILE"), self._waiting_outcomes)

    def _plays(self, host: str) -> bool:
        """Whether the daemon stands in for this host."""
        hosts = {one["host"] for one in self.endpoints() if "host" in one}
        return any(fnmatch.fnmatchcase(host.lower(), pattern) for pattern in hosts)

    def _waiting_outcomes(self) -> List[str]:
        """Describes the outcomes that wait for a sign-in."""
        return [described(one) for one in self.outcomes()]

    def call(self, method: str, path: str, body: Any = None) -> JSONObject:
        """Sends any call of the control API: `call("POST", "tokens/revocations", {"token": token})`. Returns its
        answer."""
        return dict(self._transport.json(method, path, body))

    def seed(self, addition: Mapping[str, Any]) -> None:
        """Merges another seed, with people, clients, projects and more, into the world's seed. The world keeps its
        state."""
        self._transport.json("POST", "seed", addition)

    def replace_seed(self, seed: Mapping[str, Any]) -> None:
        """Replaces the world's seed, and resets the world to the new one."""
        self._transport.json("PUT", "seed", seed)

    def current_seed(self) -> JSONObject:
        """Returns the world's seed as one document, with its keys."""
        return dict(self._transport.json("GET", "seed"))

    def snapshot(self) -> bytes:
        """Returns the whole world without its recording, as JSON. It contains every secret of the world."""
        return self._transport.bytes("GET", "snapshot")

    def restore(self, snapshot: bytes) -> None:
        """Replaces the state of this world with that of a snapshot."""
        self._transport.bytes("PUT", "snapshot", snapshot)

    def firebase_export(self, project: Optional[str] = None) -> bytes:
        """Returns a tar archive of a Firebase project's users and settings, as `firebase emulators:export` writes
        them."""
        return self._transport.bytes("GET", "firebase/export", query={"project": project})

    def reset(self) -> None:
        """Resets the world to its seed."""
        self._transport.json("POST", "reset")

    def delete(self) -> None:
        """Deletes the world and its ports. Its next use makes it again. The default world is only reset."""
        if self._is_unnamed:
            self.reset()
            return
        try:
            self.daemon.transport.json("DELETE", f"worlds/{self.name}")
        except ControlError as error:
            if error.code != "noSuchWorld":
                raise
