"""Lets programs in by the API keys of the database."""

from __future__ import annotations

from fastapi import Request

from backstay.app import Backstay
from backstay.http.access import Person, Role, bearer_of
from backstay.kit.authentication import client_address
from backstay.kit.throttle import Throttle
from backstay.model.api_keys import ApiKey, prefix_of

FREE_FAILURES = 20


class ApiKeyAccess:
    """Recognises callers by `Authorization: Bearer <key>` or `X-API-Key`; guessing is slowed down by address."""

    def __init__(self, app: Backstay, *, throttle: Throttle | None = None) -> None:
        self._app = app
        self._throttle = throttle or Throttle(free=FREE_FAILURES)

    async def authenticate(self, request: Request) -> Person | None:
        """Whose key the request carries; None without one, or for one that is unknown, expired or revoked."""
        given = bearer_of(request)
        if prefix_of(given) is None:
            # It may be a token that another way of recognising people knows.
            return None
        caller = f"API key from {client_address(request)}"
        self._throttle.check(caller)
        key = await self._app.api_keys.recognise(given)
        if key is None:
            self._throttle.failed(caller)
            return None
        return person_of_key(key)


def person_of_key(key: ApiKey) -> Person:
    """What a key may do."""
    return Person(
        key.name,
        key.tenant,
        Role(key.role),
        key.sees_payloads,
        None if key.scopes is None else frozenset(key.scopes),
        id=key.prefix,
        via="api key",
    )
