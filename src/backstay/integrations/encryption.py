"""Arguments and results encrypted at rest, with keys that rotate: pip install 'backstay[encryption]'."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backstay.app import Backstay
from backstay.errors import InvalidSettings
from backstay.handlers.sealed import SealedSpec, UnknownSeal
from backstay.handlers.spec import HandlerSpec

KEY_BYTES = 32
NONCE_BYTES = 12


class PayloadKeys:
    """Keys by name, for AES-256-GCM: the first encrypts, the others still open what they have encrypted.

    ```python
    keys = PayloadKeys({"2026-06": new, "2026-01": old})
    ```

    To rotate, put a new key first everywhere, and take the old one away when no job is left that it has encrypted. The
    same text becomes the same again, so who reads the table sees that two jobs are equal, but not what they are.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise InvalidSettings("encryption needs a key: PayloadKeys({'2026-01': secrets.token_bytes(32)})")
        for name, key in keys.items():
            if len(key) != KEY_BYTES:
                raise InvalidSettings(f"the key {name!r} has {len(key)} bytes: it needs {KEY_BYTES}")
            if not name or "." in name:
                raise InvalidSettings(f"a key cannot be called {name!r}: it needs a name without a dot")
        self._newest = next(iter(keys))
        self._ciphers = {name: AESGCM(_derived(key, b"encrypt")) for name, key in keys.items()}
        self._nonce_key = _derived(keys[self._newest], b"nonce")

    def __repr__(self) -> str:
        return f"PayloadKeys({', '.join(self._ciphers)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(self._ciphers)

    def close(self, text: str, kind: str) -> str:
        """The text, encrypted with the first key for this kind."""
        data, about = text.encode(), kind.encode()
        # Made of the text, so that it never stands for two of them; a key has a nonce key of its own.
        nonce = hmac.digest(self._nonce_key, about + b"\0" + data, "sha256")[:NONCE_BYTES]
        sealed = self._ciphers[self._newest].encrypt(nonce, data, about)
        return f"{self._newest}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, kind: str) -> str:
        """The text again; raises UnknownSeal for another key, another kind or an altered text."""
        name, _, encoded = sealed.partition(".")
        try:
            data = base64.urlsafe_b64decode(encoded)
            opened = self._ciphers[name].decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], kind.encode())
        except (KeyError, ValueError, InvalidTag):
            raise UnknownSeal from None
        return opened.decode()


def encrypt_jobs(app: Backstay, keys: PayloadKeys, *, kinds: Collection[str]) -> None:
    """Keep arguments and results of these kinds encrypted in the database.

    Called before the kinds are registered, and in every process that stores or runs such jobs. Who looks at a job
    sees that it is encrypted: the API, the dashboard and the command line have no key. What handlers write elsewhere
    (steps, progress, notes, texts of errors) is kept as it is.
    """
    wanted = frozenset(kinds)
    late = sorted(kind for kind in wanted if kind in app._registry)
    if late:
        raise InvalidSettings(
            f"{late[0]!r} is registered already: call encrypt_jobs before its handler is made"
        )

    def change(spec: HandlerSpec) -> HandlerSpec:
        return SealedSpec.of(spec, keys) if spec.kind in wanted else spec

    app._registry.change_each(change)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.new(key, b"backstay payload " + purpose, hashlib.sha256).digest()
