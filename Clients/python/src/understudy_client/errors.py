"""The package's exceptions."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Mapping, NamedTuple, Optional, Tuple


class UnderstudyError(Exception):
    """The base class of all errors of this package."""


def is_told_by_its_message(raised: Any) -> bool:
    """Tells pytest to hide this package's source in reports, so that they show the test's line and the message.

    Modules use it as `__tracebackhide__`. An exception that a mistake in this package causes is shown in full.
    """
    return raised is not None and bool(raised.errisinstance(UnderstudyError))


class DaemonError(UnderstudyError):
    """An error that says that the daemon isn't found or doesn't start."""


class Issue(NamedTuple):
    """One mistake in the body of a call."""

    path: str
    """The place in the body of the call, such as `$.effect.delay`."""
    message: str


class ControlError(UnderstudyError):
    """An error that says that the daemon has refused a call of its control API."""

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
        """The error's name, such as `noSuchAccount`, or `unexpectedAnswer` if the answer wasn't Understudy's."""
        self.message = message
        """The error's description."""
        self.path = path
        """The place in the body of the call, such as `$.effect.delay`, or `None` if it isn't known."""
        self.issues = issues
        """The first twenty mistakes in the body."""
        self.document = document
        """The whole answer."""
        place = f"{path}: " if path else ""
        others = "".join(f"\n  {issue.path}: {issue.message}" for issue in issues[1:])
        super().__init__(f"{call} was refused with {status} {code}: {place}{message}{others}")


class VerificationError(UnderstudyError, AssertionError):
    """An error that says that the recorded requests, or the messages in the inbox, aren't the expected ones."""


class PageError(UnderstudyError):
    """An error that says that a sign-in ended at a page and didn't lead back to the app."""

    def __init__(self, url: str, status: int, diagnosis: Optional[str], advice: str) -> None:
        self.url = url
        self.status = status
        self.diagnosis = diagnosis
        """The reason why the provider refuses, or `None` if it doesn't refuse."""
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
    """The error that `ASAuthorizationController` would pass to the app instead of a credential."""

    def __init__(self, code: int, name: str, domain: str, message: str) -> None:
        self.code = AppleErrorCode(code)
        self.name = name
        """The code's name in Swift, such as `canceled`."""
        self.domain = domain
        """The error domain, `com.apple.AuthenticationServices.AuthorizationError`."""
        self.message = message
        """The reason for the error. A real device doesn't give one."""
        super().__init__(f"{name} ({code}): {message}")
