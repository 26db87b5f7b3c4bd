"""A kind whose arguments and results are kept encrypted: sealed on their way in, opened where the handler runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

from backstay.errors import InvalidArguments, InvalidPayload, InvalidSettings
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec, Unfit

ENVELOPE = "backstay_encrypted"
"""The only field of what is stored instead."""


class UnknownSeal(Exception):
    """A text was sealed with a key that is not here, or was altered."""


class Seal(Protocol):
    """Encrypts texts, each for the kind that it belongs to."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its keys."""
        ...

    def close(self, text: str, kind: str) -> str:
        """The text, encrypted; the same for the same text, so that an idempotency key still fits."""
        ...

    def open(self, sealed: str, kind: str) -> str:
        """The text again; raises UnknownSeal."""
        ...


@dataclass(frozen=True, kw_only=True)
class SealedSpec(HandlerSpec):
    """A kind like another, but for how its arguments and results are kept."""

    seal: Seal

    @classmethod
    def of(cls, spec: HandlerSpec, seal: Seal) -> SealedSpec:
        """The same kind, sealed; raises InvalidSettings where the database would have to read its arguments."""
        if spec.promoted or spec.limits.templates:
            raise InvalidSettings(
                f"{spec.kind!r} cannot be encrypted: promoted fields and keys of limits are read from its arguments"
            )
        if spec.batching is not None:
            raise InvalidSettings(f"{spec.kind!r} cannot be encrypted: it is a batch")
        return cls(**{field.name: getattr(spec, field.name) for field in fields(HandlerSpec)}, seal=seal)

    @cached_property
    def argument_signature(self) -> str:
        """Names the keys as well: a job that was held for one of them goes on where it is."""
        read: str = super().argument_signature
        return codec.fingerprint(self.kind, "{}", {"read": read, "keys": list(self.seal.names)})[:16]

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Do what every kind does, and encrypt the arguments."""
        return self._close(super().bind(args, kwargs))

    def bind_many(self, calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Do the same for many calls by name."""
        return [self.bind((), call) for call in calls]

    def bind_open(self, given: Mapping[str, Any], open_names: Collection[str]) -> str:
        """Do the same for a job of a flow; what another job's result is put into cannot be encrypted before."""
        if open_names:
            why = "the result of another job cannot be put into encrypted arguments"
            raise InvalidArguments(self.kind, why, field=min(open_names))
        return self.bind((), given)

    def kept(self, text: str) -> str:
        """Encrypt the arguments of a schedule; who fires it has no key, so it cannot put its time into them."""
        if "{fire_" in text:
            raise InvalidArguments(self.kind, "the time of a fire cannot be put into encrypted arguments")
        return self._close(text)

    def unpack(self, text: str | bytes) -> dict[str, Any]:
        """Open the arguments and read them; without the key the job is held for a worker that has it.

        Jobs that were stored before the kind was encrypted are read as they are.
        """
        try:
            return super().unpack(self._opened(text))
        except UnknownSeal:
            problem = "the arguments are encrypted with a key that this worker does not have"
        raise Unfit(self, problem)

    def encode_result(self, value: object, *, limit_bytes: int = codec.MAX_BYTES) -> str | None:
        """Do what every kind does, and encrypt the result."""
        text = super().encode_result(value, limit_bytes=limit_bytes)
        return None if text is None else self._close(text)

    def decode_result(self, text: str | bytes | None) -> Any:
        """Open a result and read it; raises InvalidPayload without its key."""
        try:
            return super().decode_result(None if text is None else self._opened(text))
        except UnknownSeal:
            raise InvalidPayload(
                f"the result of {self.kind!r} is encrypted with a key that is not here"
            ) from None

    def _close(self, text: str) -> str:
        return codec.encode({ENVELOPE: self.seal.close(text, self.kind)})

    def _opened(self, text: str | bytes) -> str | bytes:
        if ENVELOPE not in (text if isinstance(text, str) else text.decode(errors="replace")):
            return text
        stored = codec.decode(text)
        if not isinstance(stored, dict) or not isinstance(stored.get(ENVELOPE), str):
            return text
        opened = self.seal.open(stored.pop(ENVELOPE), self.kind)
        # A schedule has put its reference time beside it.
        return codec.encode({**codec.decode(opened), **stored}) if stored else opened
