"""A client for Understudy, a stand-in identity provider for tests.

`Understudy.start()` starts a daemon, `Understudy.from_environment()` finds one, `understudy.world("checkout")` is a sandbox in
it. With pytest, the fixtures `understudy` and `world` do that by themselves.
"""

from __future__ import annotations

from ._version import __version__
from .accounts import Accounts
from .apple import Apple, AppleCredential, FullName, RealUserStatus
from .clock import Clock
from .daemon import Understudy
from .errors import (
    AppleAuthorizationError,
    AppleErrorCode,
    ControlError,
    DaemonError,
    Issue,
    PageError,
    UnderstudyError,
    VerificationError,
)
from .exchange import Content, DecodedToken, Evidence, Exchange
from .message import Attachment, Delivery, Message
from .names import NoncePair, nonce_pair, world_name
from .orders import Order
from .person import Callback
from .providers import Facebook, FacebookCredential, GitHub, Google, GoogleCredential, Microsoft, OpenID
from .scenarios import Scenarios
from .sign_in import SignIn, Step
from .tokens import MintedToken, Tokens
from .world import MailServer, World

__all__ = [
    "Accounts",
    "Apple",
    "AppleAuthorizationError",
    "AppleCredential",
    "AppleErrorCode",
    "Attachment",
    "Callback",
    "Clock",
    "Content",
    "ControlError",
    "DaemonError",
    "DecodedToken",
    "Delivery",
    "Evidence",
    "Exchange",
    "Facebook",
    "FacebookCredential",
    "FullName",
    "GitHub",
    "Google",
    "GoogleCredential",
    "Issue",
    "MailServer",
    "Message",
    "Microsoft",
    "MintedToken",
    "NoncePair",
    "OpenID",
    "Order",
    "PageError",
    "RealUserStatus",
    "Scenarios",
    "SignIn",
    "Step",
    "Tokens",
    "Understudy",
    "UnderstudyError",
    "VerificationError",
    "World",
    "__version__",
    "nonce_pair",
    "world_name",
]
