"""Tests of durations and moments."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from understudy_client.values import Duration, duration_text, moment, moment_text, seconds

EASTERN = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("duration", "text", "number"),
    [
        ("6m", "6m", 360),
        ("1500ms", "1500ms", 1.5),
        (timedelta(seconds=1.5), "1500ms", 1.5),
        (timedelta(hours=-1), "-3600000ms", -3600),
        ("2d", "2d", 172_800),
        ("soon", "soon", 0),
    ],
)
def test_durations(duration: Duration, text: str, number: float) -> None:
    assert duration_text(duration) == text
    assert seconds(duration) == number


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2030-01-01T10:00:00Z", datetime(2030, 1, 1, 12, tzinfo=EASTERN)),
        ("2030-01-01T10:00:00.250Z", datetime(2030, 1, 1, 12, microsecond=250_000, tzinfo=EASTERN)),
    ],
)
def test_moments(written: str, read: datetime) -> None:
    assert moment(written) == read
    assert moment_text(read) == moment_text(written) == written


def test_a_number_is_no_duration() -> None:
    with pytest.raises(TypeError, match='5 isn.t a duration: expected a text such as "5s"'):
        duration_text(5)  # type: ignore[arg-type]


def test_a_moment_without_a_time_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        moment_text(datetime(2030, 1, 1))
