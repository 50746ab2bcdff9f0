"""Scenarios, which are ready-made situations."""

from __future__ import annotations

import urllib.parse
from typing import Any, List

from ._transport import Transport
from .errors import is_told_by_its_message
from .values import JSONObject

__tracebackhide__ = is_told_by_its_message


class Scenarios:
    """The daemon's scenarios, which can be played in a world."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> List[JSONObject]:
        """Lists the scenarios: `name`, `title`, what `happens`, and whether the scenario is `played`."""
        return [dict(one) for one in self._transport.json("GET", "scenarios")["scenarios"]]

    def get(self, name: str) -> JSONObject:
        """Returns the orders of a scenario, as its file has them.

        Raises:
            ControlError: No scenario has this name (`noSuchScenario`).
        """
        return dict(self._transport.json("GET", _path(name)))

    def play(self, name: str, **parameters: Any) -> JSONObject:
        """Begins a scenario, such as `provider-outage`, with values for its parameters. Returns what happens and
        advice."""
        return dict(self._transport.json("POST", _path(name), parameters))

    def end(self, name: str) -> bool:
        """Ends a scenario: removes its faults and outcomes, and sets the clock back. Returns whether anything was
        undone."""
        return bool(self._transport.json("DELETE", _path(name))["withdrawn"])


def _path(name: str) -> str:
    return f"scenarios/{urllib.parse.quote(name, safe='')}"
