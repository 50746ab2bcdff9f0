"""A world's time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Union

from ._transport import Transport
from .errors import is_told_by_its_message
from .values import Duration, duration_text, moment_text

__tracebackhide__ = is_told_by_its_message

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Clock:
    """The clock by which a world's codes, tokens and sessions expire.

    It shows the machine's time until it is moved or frozen. Every method that changes it returns the world's new time,
    in
    UTC.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def now(self) -> datetime:
        """Returns the world's time in UTC, to the millisecond."""
        return _now(self._transport.json("GET", "clock"))

    @property
    def is_frozen(self) -> bool:
        """Whether time stands still."""
        return bool(self._transport.json("GET", "clock")["frozen"])

    def advance(self, by: Duration) -> datetime:
        """Moves the clock: `"6m"` and `timedelta(minutes=6)` forward, `"-6m"` back."""
        return self._order(advance=duration_text(by))

    def set(self, to: Union[datetime, str]) -> datetime:
        """Sets the clock to a `datetime` with a time zone, or to a text such as `"2030-01-01T00:00:00Z"`. It runs on
        from there."""
        return self._order(set=moment_text(to))

    def freeze(self, at: Union[datetime, str, None] = None) -> datetime:
        """Stops the clock, at its present time or at the given moment."""
        return self._order(freeze=True, **({} if at is None else {"set": moment_text(at)}))

    def unfreeze(self) -> datetime:
        """Lets the clock run again from the time at which it stood."""
        return self._order(freeze=False)

    def reset(self) -> datetime:
        """Sets the clock to the machine's time, and lets it run."""
        return self._order(reset=True)

    def _order(self, **order: Any) -> datetime:
        return _now(self._transport.json("POST", "clock", order))


def _now(answer: Any) -> datetime:
    return _EPOCH + timedelta(milliseconds=int(answer["milliseconds"]))
