"""The package's exceptions."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Mapping, NamedTuple, Optional, Tuple


class UnderstudyError(Exception):
    """Whatever goes wrong between a test and Understudy."""


def is_told_by_its_message(raised: Any) -> bool:
    """For pytest, as a module's `__tracebackhide__`: a report shows the test's line and the message, not this package's source.

    What is raised by a mistake in this package is shown whole.
    """
    return raised is not None and bool(raised.errisinstance(UnderstudyError))


class DaemonError(UnderstudyError):
    """No daemon: it isn't found, or it doesn't start."""


class Issue(NamedTuple):
    """One thing that is wrong with what was sent."""

    path: str
    """The place in the body, such as `$.effect.delay`."""
    message: str


class ControlError(UnderstudyError):
    """The daemon refuses a call of its control API."""

    def __init__(
        self,
        *,
        call: str,
        url: str,
        status: int,
        code: str,
        message: str,
        path: Optional[str],
        issues: Tuple[Issue, ...],
        document: Mapping[str, Any],
    ) -> None:
        self.call = call
        """The method and the path below `/_understudy/v1/`, such as `POST faults`."""
        self.url = url
        self.status = status
        """The HTTP status."""
        self.code = code
        """The error's name, such as `noSuchAccount`; `unexpectedAnswer` when something else than Understudy has answered."""
        self.message = message
        """The error in words."""
        self.path = path
        """The place in the body, such as `$.effect.delay`; `None` if it isn't known."""
        self.issues = issues
        """All that is wrong with the body, the first twenty of them."""
        self.document = document
        """The whole answer."""
        place = f"{path}: " if path else ""
        others = "".join(f"\n  {issue.path}: {issue.message}" for issue in issues[1:])
        super().__init__(f"{call} was refused with {status} {code}: {place}{message}{others}")


class VerificationError(UnderstudyError, AssertionError):
    """Requests that were expected didn't come, or others did."""


class PageError(UnderstudyError):
    """A sign-in ended at a page where it should have led back to the app."""

    def __init__(self, url: str, status: int, diagnosis: Optional[str], advice: str) -> None:
        self.url = url
        self.status = status
        self.diagnosis = diagnosis
        """The reason why the provider refuses; `None` when it doesn't."""
        super().__init__(f"{url} answered with a page ({status}): {diagnosis or advice}")


class AppleErrorCode(IntEnum):
    """`ASAuthorizationError.Code`."""

    UNKNOWN = 1000
    CANCELED = 1001
    INVALID_RESPONSE = 1002
    NOT_HANDLED = 1003
    FAILED = 1004
    NOT_INTERACTIVE = 1005


class AppleAuthorizationError(UnderstudyError):
    """The error that `ASAuthorizationController` would pass to the app in place of a credential."""

    def __init__(self, code: int, name: str, domain: str, message: str) -> None:
        self.code = AppleErrorCode(code)
        self.name = name
        """The code's name in Swift, such as `canceled`."""
        self.domain = domain
        """The error domain, `com.apple.AuthenticationServices.AuthorizationError`."""
        self.message = message
        """The reason in words. A device doesn't tell it."""
        super().__init__(f"{name} ({code}): {message}")
