"""API keys: shown once, stored as a hash, found by a prefix that may be shown."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from backstay.kit.actor import Actor, Roles
from backstay.kit.environment import Clock, random_bytes, utc_now

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz"
PREFIX_LENGTH = 8
SECRET_LENGTH = 40
_FORM = re.compile(r"[a-z][a-z0-9]{1,15}_([0-9A-Za-z]{8})_([0-9A-Za-z]{40})")


@dataclass(frozen=True)
class NewApiKey:
    """A key at the only moment when its text is known. Show `text` once, store `prefix` and `digest`."""

    text: str
    prefix: str
    digest: str

    def __repr__(self) -> str:
        return f"NewApiKey(prefix={self.prefix!r})"


@dataclass(frozen=True)
class StoredApiKey:
    """What an application keeps of a key: nothing that would let anybody in."""

    prefix: str
    digest: str
    name: str
    roles: tuple[str, ...] = ()
    tenant: str = ""
    scopes: tuple[str, ...] | None = None
    """If given, the key may do no more than these rights of its roles."""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class ApiKeyStore(Protocol):
    """Where an application keeps its keys."""

    async def find_key(self, prefix: str) -> StoredApiKey | None:
        """Return the key with this prefix."""
        ...

    async def key_used(self, prefix: str, at: datetime) -> None:
        """Note that a key has just let somebody in."""
        ...


def new_api_key(brand: str = "bst") -> NewApiKey:
    """Make a key: `bst_<prefix>_<secret>`, with 230 bits of chance."""
    if not re.fullmatch(r"[a-z][a-z0-9]{1,15}", brand):
        raise ValueError(f"the brand of a key is 2 to 16 small letters and digits, not {brand!r}")
    prefix, secret = _text(PREFIX_LENGTH), _text(SECRET_LENGTH)
    text = f"{brand}_{prefix}_{secret}"
    return NewApiKey(text, prefix, digest_of(text))


def digest_of(text: str) -> str:
    """Return the hash under which a key is stored; its chance is large, so a fast hash is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


class ApiKeys:
    """Recognises callers by their key."""

    def __init__(self, store: ApiKeyStore, roles: Roles, *, now: Clock = utc_now) -> None:
        self._store = store
        self._roles = roles
        self._now = now

    async def actor(self, text: str) -> Actor | None:
        """Return whose key this is: None if it is unknown, expired or revoked."""
        form = _FORM.fullmatch(text)
        stored = await self._store.find_key(form.group(1)) if form else None
        # The comparison is made in any case, so that an unknown prefix takes as long as a wrong secret.
        known = hmac.compare_digest(digest_of(text), stored.digest if stored else "0" * 64)
        if stored is None or not known or not self._valid(stored):
            return None
        await self._store.key_used(stored.prefix, self._now())
        return self._actor_of(stored)

    def _valid(self, stored: StoredApiKey) -> bool:
        expired = stored.expires_at is not None and stored.expires_at <= self._now()
        return not expired and stored.revoked_at is None

    def _actor_of(self, stored: StoredApiKey) -> Actor:
        actor = self._roles.actor(
            stored.name, stored.roles, tenant=stored.tenant, via="api key", actor_id=stored.prefix
        )
        if stored.scopes is None:
            return actor
        allowed = frozenset(scope for scope in stored.scopes if actor.may(scope))
        return Actor(actor.name, actor.tenant, allowed, actor.roles, actor.via, actor.id)


def _text(length: int) -> str:
    letters: list[str] = []
    while len(letters) < length:
        # Bytes beyond the last full round of the alphabet are dropped: every letter is equally likely.
        letters += [_ALPHABET[byte % len(_ALPHABET)] for byte in random_bytes(length) if byte < 216]
    return "".join(letters[:length])
