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
    """A world's name made from any text, such as a test's: what `understudy world-name TEXT` prints.

    Lower-case letters, digits and single hyphens, at most 63, so that it works in a path, in a host name and as a proxy's
    user. The same text always gives the same name, and different texts give different ones.
    """
    readable = re.sub("[^a-z0-9]+", "-", _lowered(text)).strip("-")
    if readable == text and text and len(text) <= _LABEL_LIMIT and text != "default":
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    kept = readable[: _LABEL_LIMIT - _DIGEST_LENGTH - 1].rstrip("-")
    return f"{kept or 'world'}-{digest}"


def _lowered(text: str) -> str:
    """With letters of ASCII in lower case, and no others: some others have a lower case in ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


class NoncePair(NamedTuple):
    """A nonce for a native sign-in with Apple."""

    raw: str
    """The raw nonce, for the verifier of the ID token, such as Firebase's `rawNonce`."""
    sha256: str
    """The value for Apple (`request.nonce`): the raw nonce's SHA-256 in lower-case hex. The ID token carries it."""


def nonce_pair(raw: Optional[str] = None) -> NoncePair:
    """A nonce, raw and hashed; a new random one unless it is given."""
    raw = secrets.token_urlsafe(32) if raw is None else raw
    return NoncePair(raw, hashlib.sha256(raw.encode()).hexdigest())
