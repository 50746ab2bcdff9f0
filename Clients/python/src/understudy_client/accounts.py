"""The people of a world."""

from __future__ import annotations

import urllib.parse
from typing import Any, Iterator, List, Mapping

from ._transport import Transport, paged
from .errors import ControlError, is_told_by_its_message
from .values import JSONObject

__tracebackhide__ = is_told_by_its_message


class Accounts:
    """The people who can sign in. Each is a dictionary with the members of an account in a seed file: `id`, `name`,
    `email`…"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __iter__(self) -> Iterator[JSONObject]:
        return iter(self.list())

    def __contains__(self, account: object) -> bool:
        try:
            self[str(account)]
        except KeyError:
            return False
        return True

    def __getitem__(self, account: str) -> JSONObject:
        """Returns the person with this ID.

        Raises:
            KeyError: Nobody has this ID.
        """
        try:
            return dict(self._transport.json("GET", _path(account)))
        except ControlError as error:
            if error.status == 404:
                raise KeyError(account) from error
            raise

    def list(self) -> List[JSONObject]:
        """Returns all people: first those of the seed, in its order, then those who were added."""
        return [dict(one) for one in paged(self._transport, "accounts", "accounts", {}, 0)]

    def add(self, id: str, **members: Any) -> JSONObject:
        """Adds a person: `add("max", email="max@example.org")`. Members that are left out get defaults made from the
        ID."""
        return dict(self._transport.json("POST", "accounts", {"id": id, **members}))

    def change(self, id: str, patch: Mapping[str, Any]) -> JSONObject:
        """Changes the members that the JSON Merge Patch names. `None` sets a member back to its default."""
        return dict(self._transport.json("PATCH", _path(id), patch))

    def remove(self, id: str) -> None:
        """Removes a person, and everything that the providers have stored about them."""
        self._transport.json("DELETE", _path(id))


def _path(account: str) -> str:
    return f"accounts/{urllib.parse.quote(account, safe='')}"
