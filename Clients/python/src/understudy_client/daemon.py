"""A daemon that runs already, or that this package starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, List, Mapping, Optional, Sequence, Type, Union

from ._transport import Transport, paged
from .errors import DaemonError, is_told_by_its_message
from .exchange import Exchange, exchange
from .names import WORLD_NAME, world_name
from .values import JSONObject
from .world import World

__tracebackhide__ = is_told_by_its_message

_NOT_FOUND = (
    "the program understudy isn't found: install it, name it in UNDERSTUDY_BINARY, or name a daemon that runs in "
    "UNDERSTUDY_URL"
)
# Programs read in these variables which certificates to trust, and so trust those of the daemon's proxy.
_TRUST = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")
_TOLD = ("UNDERSTUDY_URL", "UNDERSTUDY_CONTROL_TOKEN", "UNDERSTUDY_PROXY_URL", *_TRUST)
# This script is the command that `understudy exec` runs. It prints the daemon's variables, and ends when its input is
# closed, which also happens when this process is killed.
_SCRIPT = f"""printf '%s\\n' {" ".join(f'"${name}"' for name in _TOLD)}; exec cat > /dev/null"""
_SECONDS_TO_END = 10.0
# When a daemon has ended, this many bytes at the end of its standard error are read, and this many lines are shown.
_ERRORS_LIMIT = 64 << 10
_LAST_WORDS = 5
_ADDRESS = re.compile(rf"(https?://(?:\[[0-9a-f:.]+\]|[^][\s/?#@:]+)(?::\d{{1,5}})?)/*(?:/~({WORLD_NAME}))?/*", re.IGNORECASE)


class Understudy:
    """A daemon and its worlds. In a `with` statement, a daemon that was started ends at the end of the block."""

    def __init__(
        self,
        url: str,
        *,
        control_token: Optional[str] = None,
        proxy_url: Optional[str] = None,
        trust: Optional[Mapping[str, str]] = None,
    ) -> None:
        """
        Args:
            url: The daemon's address, such as `http://localhost:9099`. If it ends with `/~NAME`, that world is the
                default one.
            control_token: The token for the daemon's control API, if it requires one.
            proxy_url: The address of the daemon's proxy, if it has one.
            trust: Variables such as `SSL_CERT_FILE`, which make programs trust the proxy's certificates.

        Raises:
            ValueError: The address or the token is invalid.
        """
        parts = _ADDRESS.fullmatch(url.strip())
        if parts is None:
            raise ValueError(
                f"{url!r} isn't a daemon's address: expected one such as http://localhost:9099, behind which only a world "
                "may follow, as /~NAME"
            )
        if control_token and not re.fullmatch("[!-~]+", control_token):
            raise ValueError("the control token has spaces or other characters that no token has")
        base, world = parts.groups()
        self.url: str = base
        """The daemon's URL, without a slash at the end."""
        self.control_token = control_token
        self.proxy_url = proxy_url
        self.trust = dict(trust or {})
        self._process: Optional[subprocess.Popen[str]] = None
        self._errors: Optional[IO[str]] = None
        self.transport = self.transport_to(base)
        self.default = World(self, world)
        """The world of requests that name no world."""

    @classmethod
    def from_environment(cls) -> Optional[Understudy]:
        """Returns the daemon that `UNDERSTUDY_URL` names, or `None` if that variable isn't set. The control token comes
        from `UNDERSTUDY_CONTROL_TOKEN`, or from the file that `UNDERSTUDY_CONTROL_TOKEN_FILE` names.

        Raises:
            DaemonError: A variable has an invalid value, or the token's file can't be read.
        """
        url = os.environ.get("UNDERSTUDY_URL")
        if not url:
            return None
        proxy = os.environ.get("UNDERSTUDY_PROXY_URL") or None
        trust = {name: os.environ[name] for name in _TRUST if proxy and name in os.environ}
        token = _token()
        try:
            return cls(url, control_token=token, proxy_url=proxy, trust=trust)
        except ValueError as error:
            raise DaemonError(f"the variables UNDERSTUDY_… in the environment can't be used: {error}") from None

    @classmethod
    def start(
        cls,
        arguments: Sequence[str] = (),
        *,
        binary: Union[str, Path, None] = None,
        environment: Optional[Mapping[str, str]] = None,
    ) -> Understudy:
        """Starts a daemon on a free port, with another free port for mail. It ends with this process, even if that is
        killed.

        Args:
            arguments: Options of `understudy serve`, such as `["--seed", "tests/seed.json"]`.
            binary: The program's path. By default it is the value of `UNDERSTUDY_BINARY`, or `understudy` on the
                `PATH`.
            environment: Variables that the daemon gets in addition to those of this process.

        Raises:
            DaemonError: The program isn't found, or it can't start. The message has its reason.
        """
        program = shutil.which(str(binary or os.environ.get("UNDERSTUDY_BINARY") or "understudy"))
        if program is None:
            raise DaemonError(f"{binary}: {_NOT_FOUND}" if binary else _NOT_FOUND)
        errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        try:
            process = subprocess.Popen(
                [program, "exec", *arguments, "--", "sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**_without_daemon(), **(environment or {})},
                text=True,
                # Ctrl-C interrupts the tests, and must not interrupt the daemon, which they need until they have ended.
                start_new_session=True,
            )
        except OSError as error:
            errors.close()
            raise DaemonError(f"{program} can't be run: {error.strerror}") from None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not _ADDRESS.fullmatch(url):
            code = _end(process)
            reason = _tail(errors) or (f"it says {url[:80]!r}" if url else f"exit code {code}")
            errors.close()
            raise DaemonError(f"{program} doesn't start: {reason}")
        token, proxy, *files = (process.stdout.readline().strip() for _ in _TOLD[1:])
        trust = dict(zip(_TRUST, files)) if proxy else {}
        understudy = cls(url, control_token=token or None, proxy_url=proxy or None, trust=trust)
        understudy._process, understudy._errors = process, errors
        return understudy

    def close(self) -> None:
        """Ends the daemon if this object started it."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def __enter__(self) -> Understudy:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Understudy {self.url}>"

    @property
    def is_started(self) -> bool:
        """Whether this object started the daemon and hasn't been closed."""
        return self._process is not None

    def transport_to(self, base: str) -> Transport:
        """Returns a client of the control API at an address of this daemon."""
        return Transport(base, self.control_token, self._ending)

    def _ending(self) -> Optional[str]:
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        lines = [] if self._errors is None else _tail(self._errors).splitlines()
        return "\n".join([f"it was started here, and has ended with exit code {code}", *lines[-_LAST_WORDS:]])

    def world(self, name: Optional[str] = None) -> World:
        """Returns a world, which the daemon makes when it is first used. A text that can't be a world's name (1 to 64
        letters, digits, `-`, `_` and `.`) is changed into one by `world_name`. Without a name, it is the default
        world."""
        if name is None:
            return self.default
        return World(self, name if re.fullmatch(WORLD_NAME, name) else world_name(name))

    def worlds(self) -> List[JSONObject]:
        """Lists the daemon's worlds: `name`, `requests`, `idleSeconds`, and `url` and `smtp` for a world with ports of
        its own."""
        return [dict(one) for one in self.transport.json("GET", "worlds")["worlds"]]

    def health(self) -> JSONObject:
        """Returns the daemon's health: `status`, `version`, and the memory in use.

        Raises:
            ControlError: The daemon isn't ready (503).
        """
        answer = self.transport.json("GET", "health")
        return {**answer, "version": answer["version"]}

    @property
    def version(self) -> str:
        """The daemon's version."""
        return str(self.health()["version"])

    def requests(self, worlds: str = "*", *, refused: Optional[bool] = None) -> List[Exchange]:
        """Returns the exchanges of all worlds whose name fits `worlds`, in the order in which they were answered. They
        include the refused requests of worlds that were deleted."""
        query = {"world": worlds, "refused": refused}
        return [exchange(one) for one in paged(self.transport, "requests", "requests", query, 0)]

    def forget_requests(self, worlds: str = "*") -> None:
        """Empties the recordings of all worlds whose name fits, and forgets the refused requests of deleted worlds."""
        self.transport.json("DELETE", "requests", query={"world": worlds})


def _token() -> Optional[str]:
    token, file = (os.environ.get(f"UNDERSTUDY_CONTROL_TOKEN{end}") for end in ("", "_FILE"))
    try:
        return (token or (Path(file).read_text() if file else "")).strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonError(f"the file that UNDERSTUDY_CONTROL_TOKEN_FILE names can't be read: {error}") from None


def _tail(file: IO[str]) -> str:
    """Reads the end of a file that another process writes. It leaves the file's position alone, which both share."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), _ERRORS_LIMIT, max(0, size - _ERRORS_LIMIT)).decode(errors="replace").strip()


def _without_daemon() -> Mapping[str, str]:
    """Returns this process's environment without the variables of another daemon, which a new one would take as
    options."""
    if "UNDERSTUDY_URL" not in os.environ:
        return os.environ
    told = ("URL", "CONTROL_URL", "CONTROL_TOKEN", "PROXY_URL", "SMTP_HOST", "SMTP_PORT")
    return {name: value for name, value in os.environ.items() if name not in [f"UNDERSTUDY_{one}" for one in told]}


def _end(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    try:
        return process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
