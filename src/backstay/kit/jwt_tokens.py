"""JSON Web Tokens of another system: HS256 with a shared secret, RS256 with a key set given as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import jwt

from backstay.kit.actor import Actor, Roles

SHORTEST_SECRET = 32
LONGEST_TOKEN = 8192


@dataclass(frozen=True)
class Claims:
    """Which claims of a token carry name, tenant, roles and id."""

    name: str = "sub"
    tenant: str = "tenant"
    roles: str = "roles"
    id: str = "sub"


class JwtTokens:
    """Recognises callers by a signed token.

    Each key belongs to one algorithm: a token cannot choose another one for it. `exp`, issuer and audience are
    required and checked. Give `secret` for HS256, `jwks` (a JSON Web Key Set) for RS256, or both.
    """

    def __init__(
        self,
        roles: Roles,
        *,
        issuer: str,
        audience: str,
        secret: str | None = None,
        jwks: Mapping[str, Any] | None = None,
        claims: Claims | None = None,
        leeway: timedelta = timedelta(seconds=30),
    ) -> None:
        if secret is None and jwks is None:
            raise ValueError(
                "give secret= for HS256 or jwks= for RS256: without a key no token can be checked"
            )
        if secret is not None and len(secret) < SHORTEST_SECRET:
            raise ValueError(f"the secret of HS256 needs at least {SHORTEST_SECRET} characters")
        self._roles = roles
        self._issuer = issuer
        self._audience = audience
        self._secret = secret
        self._public_keys = _rs256_keys(jwks or {})
        self._claims = claims or Claims()
        self._leeway = leeway

    def actor(self, token: str) -> Actor | None:
        """Return whom the token names: None if it is not signed by a known key, expired or meant for others."""
        if len(token) > LONGEST_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(token)
            key = self._key_for(header)
            if key is None:
                return None
            content = jwt.decode(
                token,
                key,
                algorithms=[header["alg"]],
                issuer=self._issuer,
                audience=self._audience,
                leeway=self._leeway,
                options={"require": ["exp", "iss", "aud", self._claims.name]},
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return None
        return self._actor_of(content)

    def _key_for(self, header: Mapping[str, Any]) -> Any:
        if header.get("alg") == "HS256":
            return self._secret
        if header.get("alg") == "RS256":
            if "kid" not in header and len(self._public_keys) == 1:
                return next(iter(self._public_keys.values()))
            return self._public_keys.get(str(header.get("kid")))
        return None

    def _actor_of(self, content: Mapping[str, Any]) -> Actor | None:
        name, roles = content.get(self._claims.name), content.get(self._claims.roles, ())
        tenant, actor_id = content.get(self._claims.tenant, ""), content.get(self._claims.id, "")
        if not isinstance(name, str) or not name or not isinstance(tenant, str):
            return None
        return self._roles.actor(name, _texts(roles), tenant=tenant, via="jwt", actor_id=str(actor_id))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, Sequence):
        return [each for each in value if isinstance(each, str)]
    return []


def _rs256_keys(jwks: Mapping[str, Any]) -> dict[str, Any]:
    """Read the RSA signing keys of a key set; keys of other kinds are left out."""
    keys: dict[str, Any] = {}
    for number, each in enumerate(jwks.get("keys", ())):
        fits = (
            each.get("kty") == "RSA"
            and each.get("use", "sig") == "sig"
            and each.get("alg", "RS256") == "RS256"
        )
        if fits:
            if "d" in each:
                raise ValueError("the key set holds a private key; give the public ones only")
            keys[str(each.get("kid", number))] = jwt.PyJWK(each, algorithm="RS256").key
    return keys
