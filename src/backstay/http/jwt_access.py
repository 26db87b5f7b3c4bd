"""Lets people and programs in by the JSON Web Tokens of another system."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request

from backstay.errors import InvalidSettings
from backstay.http.access import ROLES, Person, bearer_of, person_of
from backstay.kit.authentication import client_address
from backstay.kit.jwt_tokens import Claims, JwtTokens
from backstay.kit.throttle import Throttle

FREE_FAILURES = 20
ISSUER, AUDIENCE = "BACKSTAY_JWT_ISSUER", "BACKSTAY_JWT_AUDIENCE"
SECRET, KEYS = "BACKSTAY_JWT_SECRET", "BACKSTAY_JWT_JWKS_FILE"


class JwtAccess:
    """Recognises callers by `Authorization: Bearer <token>`, signed with HS256 or RS256 for this audience.

    Give `secret` for HS256, and `jwks` (a JSON Web Key Set) or `jwks_file` for RS256; a file is read again when it
    has changed, so that keys can be rotated, and nothing is fetched from anywhere. The claims name who it is
    (`sub`), the `tenant` and the `roles`, one of viewer, operator and admin, with `payloads` for those who may see
    arguments and results. Guessing is slowed down by address.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        secret: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        jwks_file: str | os.PathLike[str] | None = None,
        claims: Claims | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        if jwks is not None and jwks_file is not None:
            raise InvalidSettings("give jwks= or jwks_file=, not both")
        self._issuer, self._audience, self._secret = issuer, audience, secret
        self._given, self._claims = jwks, claims
        self._file = None if jwks_file is None else Path(jwks_file)
        self._read_at: float | None = None
        self._throttle = throttle or Throttle(free=FREE_FAILURES)
        self._tokens = self._made()

    async def authenticate(self, request: Request) -> Person | None:
        """Whom the token names; None without one, or for one that is not for us, not signed by our keys or expired."""
        given = bearer_of(request)
        if given.count(".") != 2:
            # It may be a key that another way of recognising people knows.
            return None
        caller = f"token from {client_address(request)}"
        self._throttle.check(caller)
        person = person_of(self._current().actor(given))
        if person is None:
            self._throttle.failed(caller)
        return person

    def _current(self) -> JwtTokens:
        if self._file is not None and self._changed_at() != self._read_at:
            self._tokens = self._made()
        return self._tokens

    def _changed_at(self) -> float:
        assert self._file is not None
        try:
            return self._file.stat().st_mtime_ns
        except OSError as error:
            raise InvalidSettings(f"the key set {self._file} cannot be read: {error.strerror}") from error

    def _made(self) -> JwtTokens:
        keys = self._given
        if self._file is not None:
            self._read_at = self._changed_at()
            keys = _read(self._file)
        try:
            return JwtTokens(
                ROLES,
                issuer=self._issuer,
                audience=self._audience,
                secret=self._secret,
                jwks=keys,
                claims=self._claims,
            )
        except ValueError as error:
            raise InvalidSettings(f"tokens cannot be checked: {error}") from error

    def __repr__(self) -> str:
        return f"<JwtAccess for {self._audience} by {self._issuer}>"


def jwt_access_of(environment: Mapping[str, str]) -> JwtAccess | None:
    """What the environment says of tokens: BACKSTAY_JWT_ISSUER, …_AUDIENCE, and …_SECRET or …_JWKS_FILE."""
    given = {name: environment.get(name, "") for name in (ISSUER, AUDIENCE, SECRET, KEYS)}
    if not any(given.values()):
        return None
    if not given[ISSUER] or not given[AUDIENCE] or not (given[SECRET] or given[KEYS]):
        raise InvalidSettings(f"tokens need {ISSUER}, {AUDIENCE}, and {SECRET} or {KEYS}")
    return JwtAccess(
        issuer=given[ISSUER],
        audience=given[AUDIENCE],
        secret=given[SECRET] or None,
        jwks_file=given[KEYS] or None,
    )


def _read(file: Path) -> Mapping[str, Any]:
    try:
        keys = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"the key set {file} cannot be read: {error}") from error
    if not isinstance(keys, dict) or not isinstance(keys.get("keys"), list):
        raise InvalidSettings(f'{file} is not a key set: it must hold {{"keys": […]}}')
    return keys
