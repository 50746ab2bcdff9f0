"""Names of worlds, and nonces."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NamedTuple, Optional

WORLD_NAME = "[A-Za-z0-9._-]{1,64}"
"""The rule for names of worlds, as a regular expression."""
_LABEL_LIMIT = 63
_DIGEST_LENGTH = 12


def world_name(text: str) -> str:
    """Makes a world's name from any text, such as a test's name. `understudy world-name TEXT` prints the same.

    The name has at most 63 lower-case letters, digits and single hyphens, so that it works in a path, in a host name
    and as a proxy's user. The same text always gives the same name, and different texts give different names.
    """
    readable = re.sub("[^a-z0-9]+", "-", _lowered(text)).strip("-")
    if readable == text and text and len(text) <= _LABEL_LIMIT and text != "default":
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    kept = readable[: _LABEL_LIMIT - _DIGEST_LENGTH - 1].rstrip("-")
    return f"{kept or 'world'}-{digest}"


def _lowered(text: str) -> str:
    """Makes ASCII letters lower-case. It leaves other letters alone, since the lower case of some of them is in
    ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


class NoncePair(NamedTuple):
    """A nonce for a native sign-in with Apple, raw and hashed."""

    raw: str
    """The raw nonce, which whoever verifies the ID token needs, such as Firebase as `rawNonce`."""
    sha256: str
    """The value for Apple's `request.nonce`, which the ID token repeats: the raw nonce's SHA-256 in lower-case hex."""


def nonce_pair(raw: Optional[str] = None) -> NoncePair:
    """Makes a nonce, raw and hashed. The raw nonce is random unless it is given."""
    raw = secrets.token_urlsafe(32) if raw is None else raw
    return NoncePair(raw, hashlib.sha256(raw.encode()).hexdigest())
