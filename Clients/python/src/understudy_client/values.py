"""Durations and moments in the form of the control API."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Optional, Sequence, Union

Duration = Union[str, timedelta]
"""A duration: a text such as `"500ms"`, `"2s"`, `"6m"`, `"1h"` or `"30d"`, or a `timedelta`."""

JSONObject = Dict[str, Any]

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration_text(duration: Duration) -> str:
    """Writes a duration as text, a `timedelta` to the millisecond.

    Raises:
        TypeError: The value is neither a text nor a `timedelta`. A number, for example, has no unit.
    """
    if isinstance(duration, str):
        return duration
    if not isinstance(duration, timedelta):
        raise TypeError(f"{duration!r} isn't a duration: expected a text such as \"5s\", or a timedelta")
    return f"{round(duration / timedelta(milliseconds=1))}ms"


def seconds(duration: Duration) -> float:
    """Returns the seconds of a duration. For an invalid text, which the daemon will refuse, it returns 0."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    found = re.fullmatch(r"([0-9]+)(ms|s|m|h|d)", duration)
    return int(found[1]) * _UNITS[found[2]] if found else 0


def moment_text(moment: Union[str, datetime]) -> str:
    """Writes the moment as RFC 3339 has it, to the millisecond.

    Raises:
        ValueError: The `datetime` has no time zone.
    """
    if isinstance(moment, str):
        return moment
    if moment.utcoffset() is None:
        raise ValueError(f"{moment!r} has no time zone: use datetime(…, tzinfo=timezone.utc)")
    # Whole seconds are written without a fraction, since a daemon may refuse a fraction.
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(timezone.utc).isoformat(timespec=precision).replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """Reads a moment that the daemon has written, and returns it in UTC."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    read = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return read + timedelta(microseconds=int(fraction.ljust(6, "0")[:6] or 0))


def texts(value: Union[str, Sequence[str], None]) -> Optional[List[str]]:
    """Returns a list of texts, also if only one text is given."""
    return value if value is None else [value] if isinstance(value, str) else list(value)


def present(**members: Any) -> JSONObject:
    """Returns the members that aren't `None`."""
    return {name: value for name, value in members.items() if value is not None}
