"""One kind of jobs: the function that handles it, and its arguments and results as JSON and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec

from backstay.errors import InvalidArguments, InvalidPayload, InvalidSettings
from backstay.handlers import argument_schema, codec
from backstay.handlers.all_or_none import make_all
from backstay.handlers.decoding_errors import problem_and_field, problem_of_stored
from backstay.handlers.fast_encoding import NO_PLAIN_CALLS, PlainCalls, plain_calls
from backstay.handlers.fidelity import alteration
from backstay.handlers.signature import (
    Signature,
    decoder_for,
    first_line,
    read_batch_signature,
    read_signature,
)
from backstay.model import promoted_fields
from backstay.model.batch import Batching
from backstay.model.limits.declared import NO_LIMITS, KindLimits, key_problem, refuse_unknown
from backstay.model.limits.keys import fields as key_fields
from backstay.model.policy.policy import PolicyChange, to_json
from backstay.model.promoted_fields import PromotedColumn, PromotedField
from backstay.model.reactions import ARGUMENT
from backstay.model.states import State
from backstay.model.text.durations import Duration

RunsIn = Literal["loop", "thread", "process"]
Extra = Literal["refuse", "ignore"]
DEFAULT_QUEUE = "default"


class Unfit(InvalidArguments):
    """Stored arguments do not fit the handler, whose signature it names; what a caller hands in is never this."""

    def __init__(self, spec: HandlerSpec, problem: str, *, field: str = "") -> None:
        super().__init__(spec.kind, problem, field=field)
        self.signature = spec.argument_signature


@dataclass(frozen=True, kw_only=True)
class HandlerSpec:
    """One kind: the function that handles it, what that takes and returns, and where it waits and runs.

    A kind that is only declared has no function here; another process handles it.
    """

    kind: str
    queue: str = DEFAULT_QUEUE
    function: Callable[..., Any] | None = None
    signature: Signature | None = None
    policy: PolicyChange | None = None
    runs_in: RunsIn = "loop"
    description: str = ""
    aliases: tuple[str, ...] = ()
    promoted: tuple[PromotedColumn, ...] = ()
    limits: KindLimits = NO_LIMITS
    reactions: Mapping[State, str] = field(default_factory=dict)
    """The kinds whose jobs are stored when one of this kind ends so."""
    batching: Batching | None = None
    """Set where the function handles many jobs at once."""
    arguments: Mapping[str, Any] | None = None
    """The schema of what the handler takes, where another process has it and only that is known here."""
    timeout_by: Callable[..., Duration] | None = None
    """Says by a job's arguments how long one run may take, where that is shorter than the kind's time limit."""

    @property
    def is_declared_only(self) -> bool:
        """Whether the handler lives in another process."""
        return self.function is None

    @cached_property
    def is_async(self) -> bool:
        """Whether the function must be awaited."""
        return self.signature is not None and self.signature.is_async

    @cached_property
    def wants_context(self) -> bool:
        """Whether the context is handed in as the first argument."""
        return self.signature is not None and self.signature.wants_context

    @property
    def only_argument(self) -> str:
        """The name of what it takes as a reaction; raises InvalidSettings if it cannot be called with one value."""
        names = list(self.signature.names) if self.signature is not None else [ARGUMENT]
        needed = [name for name in names if self.signature is None or name not in self.signature.defaults]
        if not names or len(needed) > 1:
            raise InvalidSettings(
                f"{self.kind!r} cannot be a reaction: its handler must take one argument, 'ended: JobEnded', "
                f"and it takes {', '.join(map(repr, needed)) or 'none'}"
            )
        return (needed or names)[0]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.signature.schema() if self.signature else {"type": "object"}

    @cached_property
    def argument_signature(self) -> str:
        """Names what stored arguments are read by; changes when a job might fit that did not before."""
        options = {"schema": self.schema, "extra": self.signature is not None and self.signature.extra}
        return codec.fingerprint(self.kind, "{}", options)[:16]

    @cached_property
    def fingerprint(self) -> str:
        """Changes when kind, queue, policy, arguments or promoted fields change; tells two releases apart."""
        options: dict[str, Any] = {
            "queue": self.queue,
            "policy": to_json(self.policy),
            "schema": self.schema,
        }
        if self.promoted:
            options["promoted"] = [str(field) for field in self.promoted]
        if self.reactions:
            options["reactions"] = {state.value: kind for state, kind in self.reactions.items()}
        if self.limits:
            options["limits"] = str(self.limits)
        return codec.fingerprint(self.kind, "{}", options)

    @cached_property
    def _max_payload_bytes(self) -> int:
        limit: int = (self.policy or PolicyChange()).fields.get("max_payload_bytes", codec.MAX_BYTES)
        return limit

    @cached_property
    def max_result_bytes(self) -> int | None:
        """The kind's own limit on results; None leaves it to the worker's."""
        limit: int | None = (self.policy or PolicyChange()).fields.get("max_result_bytes")
        return limit

    @cached_property
    def _has_columns_or_keys(self) -> bool:
        return bool(self.promoted or self.limits.templates)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Check a call against the handler's signature and return its arguments as a JSON object.

        Raises InvalidArguments naming the field, or InvalidPayload for a value that JSON cannot hold.
        """
        if (plain := self._plain.one(args, kwargs)) is not None:
            return plain
        given = self.by_name(args, kwargs)
        text = codec.encode(given, limit_bytes=self._max_payload_bytes)
        if self.signature is not None:
            self._check_types(self.signature, given, text)
        else:
            if self.arguments is not None:
                self._read(argument_schema.reader_of(self.arguments), text)
            self._refuse_altered(given, codec.decode(text))
        return self._checked(text) if self._has_columns_or_keys else text

    def bind_many(self, calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Do what `bind` does for many calls by name; raises InvalidBatch that names every bad one."""
        plain = self._plain.many(calls)
        return make_all(self._bind_mapping, calls) if plain is None else plain

    def _bind_mapping(self, call: object) -> str:
        if not isinstance(call, Mapping):
            given = type(call).__name__
            raise InvalidArguments(self.kind, f"arguments must be a mapping by name, not {given}")
        return self.bind((), call)

    @cached_property
    def _plain(self) -> PlainCalls:
        if self.signature is None or self._has_columns_or_keys:
            return NO_PLAIN_CALLS
        return plain_calls(self.signature, limit_bytes=self._max_payload_bytes)

    def _checked(self, text: str) -> str:
        """The arguments, if every promoted field among them fits its column, and every key of a limit its bounds."""
        arguments = codec.decode(text)
        odd = key_problem(self.limits, arguments)
        if odd is not None:
            raise InvalidArguments(self.kind, str(odd), field=odd.field)
        for promoted in (one for one in self.promoted if not one.is_option):
            wrong = promoted_fields.problem(promoted, arguments.get(promoted.field))
            if wrong is not None:
                raise InvalidArguments(self.kind, wrong, field=promoted.field)
        return text

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by their names; raises InvalidArguments for one that the handler does not take."""
        if self.signature is None:
            if args:
                raise InvalidArguments(self.kind, "a declared kind takes keyword arguments only")
            return dict(kwargs)
        names = self.signature.positional
        if not kwargs and len(args) <= len(names):
            return dict(zip(names, args, strict=False))
        given = dict(kwargs)
        if args:
            if len(args) > len(names):
                raise InvalidArguments(
                    self.kind, f"{len(args)} positional arguments given, it takes at most {len(names)}"
                )
            for name, value in zip(names, args, strict=False):
                if name in given:
                    raise InvalidArguments(self.kind, "given twice, by position and by name", field=name)
                given[name] = value
        known = self.signature.names
        for name in given:
            if name not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise InvalidArguments(self.kind, f"unknown argument, {takes}", field=name)
        return given

    def bind_open(self, given: Mapping[str, Any], open_names: Collection[str]) -> str:
        """Do what `bind` does where some arguments are not known yet: those are not checked, all others are."""
        needed = {one.field for one in self.promoted if not one.is_option}.union(
            *map(key_fields, self.limits.templates)
        )
        for name in sorted(needed.intersection(open_names)):
            why = "a promoted field or part of a limit's key must be known from the start"
            raise InvalidArguments(self.kind, why, field=name)
        if not open_names or (self.signature is None and self.arguments is None):
            return self.bind((), given)
        if self.signature is None:
            return codec.encode(dict(given), limit_bytes=self._max_payload_bytes)
        missing = set(self.signature.names) - set(given) - set(self.signature.defaults)
        if missing:
            raise InvalidArguments(self.kind, "required argument is missing", field=min(missing))
        text = codec.encode(dict(given), limit_bytes=self._max_payload_bytes)
        for name in sorted(set(given) - set(open_names)):
            self._check_one(self.signature, name, given[name])
        return text

    def kept(self, text: str) -> str:
        """Checked arguments as they are stored for many jobs to come."""
        return text

    def _check_one(self, signature: Signature, name: str, value: object) -> None:
        if name in signature.text_names and not isinstance(value, str):
            raise InvalidArguments(self.kind, f"Expected `str`, got `{type(value).__name__}`", field=name)
        decoder = decoder_for(signature.annotations[name], f"{self.kind}: {name}")
        try:
            arrives = decoder.decode(codec.encode(value))
        except msgspec.ValidationError as error:
            raise InvalidArguments(self.kind, problem_and_field(str(error))[0], field=name) from error
        self._refuse_altered({name: value}, {name: arrives})

    def _check_types(self, signature: Signature, given: Mapping[str, Any], text: str) -> None:
        for name in signature.text_names:
            value = given.get(name, "")
            # A UUID or date would be written as text and so come back to the handler as another type.
            if not isinstance(value, str):
                raise InvalidArguments(self.kind, f"Expected `str`, got `{type(value).__name__}`", field=name)
        self._refuse_altered(given, signature.to_keywords(self._read(signature.decoder, text)))

    def _refuse_altered(self, given: Mapping[str, Any], arrives: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if (altered := alteration(value, arrives.get(name), name)) is not None:
                raise InvalidArguments(self.kind, altered[0], field=altered[1])

    def _read(self, decoder: msgspec.json.Decoder[Any], text: str | bytes) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.ValidationError as error:
            problem, name = problem_and_field(str(error))
            raise InvalidArguments(self.kind, problem, field=name) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidArguments(self.kind, f"the stored arguments are not JSON: {error}") from error

    def unpack(self, text: str | bytes) -> dict[str, Any]:
        """Read stored arguments as the keyword arguments of the function, in its own types.

        What the job was stored without is left to the function's defaults. A reference time that the function does
        not take is for its context alone. Raises Unfit, or InvalidArguments where there is no handler here at all.
        """
        if self.signature is None:
            raise InvalidArguments(self.kind, "the kind is only declared here: no handler can take it")
        if "reference_time" not in self.signature.names:
            text = codec.without("reference_time", text)
        try:
            arguments = self.signature.decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem, name = problem_of_stored(error)
        else:
            return self.signature.to_keywords(arguments)
        # Not in the `except`: that error's message may hold the value, and this one is kept with the job and logged.
        raise Unfit(self, problem, field=name)

    def encode_result(self, value: object, *, limit_bytes: int = codec.MAX_BYTES) -> str | None:
        """Turn what the handler returned into JSON text; None stays None. Raises InvalidPayload."""
        return None if value is None else codec.encode(value, limit_bytes=limit_bytes, what="result")

    @cached_property
    def result_reader(self) -> Callable[[str | bytes | None], Any]:
        """`decode_result`, made once: thousands of handles a second keep it."""
        return self.decode_result

    def decode_result(self, text: str | bytes | None) -> Any:
        """Read a stored result in the type the handler is annotated to return."""
        if text is None:
            return None
        if self.signature is None:
            return codec.decode(text)
        try:
            return self.signature.result_decoder.decode(text)
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"the result of {self.kind!r} is not what it returns: {error}") from error


def describe(
    function: Callable[..., Any],
    *,
    kind: str | None = None,
    queue: str = DEFAULT_QUEUE,
    policy: PolicyChange | None = None,
    runs_in: RunsIn | None = None,
    aliases: tuple[str, ...] = (),
    promote: Sequence[str | PromotedField] = (),
    limits: KindLimits = NO_LIMITS,
    batching: Batching | None = None,
    reactions: Mapping[State, str] | None = None,
    timeout_by: Callable[..., Duration] | None = None,
    names: Mapping[str, Any] | None = None,
    extra: Extra = "refuse",
) -> HandlerSpec:
    """Read a function as a handler; raises InvalidSettings if it cannot be one.

    `names` resolves annotations that the function's module does not know, such as local classes. `extra` says what
    becomes of stored arguments that the function does not take.
    """
    kind = codec.check_name("kind", kind if kind is not None else getattr(function, "__name__", ""))
    read = read_signature if batching is None else read_batch_signature
    signature = read(function, names=names, extra=_checked_extra(extra))
    refuse_unknown(kind, limits, signature.names, signature.defaults)
    return HandlerSpec(
        kind=kind,
        queue=codec.check_name("queue", queue),
        function=function,
        signature=signature,
        policy=policy,
        runs_in=_place(kind, runs_in, signature, batching),
        description=first_line(function.__doc__),
        aliases=tuple(codec.check_name("aliases", alias) for alias in aliases),
        promoted=promoted_fields.resolve(kind, promote, signature.annotations) if promote else (),
        limits=limits,
        batching=batching,
        reactions=reactions or {},
        timeout_by=_checked_limit(kind, timeout_by, batching),
    )


def _checked_extra(given: Extra) -> Extra:
    if given not in get_args(Extra):
        raise InvalidSettings(f"extra cannot be {given!r}: it is 'refuse' or 'ignore'")
    return given


def _checked_limit(
    kind: str, given: Callable[..., Duration] | None, batching: Batching | None
) -> Callable[..., Duration] | None:
    if given is not None and not callable(given):
        raise InvalidSettings(
            f"timeout_by of {kind!r} must be a function of the arguments, not {type(given).__name__}: "
            "a time limit for all of them is 'timeout'"
        )
    if given is not None and batching is not None:
        raise InvalidSettings(f"{kind!r} handles many jobs at once, whose time limits cannot differ")
    return given


def _place(kind: str, asked: RunsIn | None, signature: Signature, batching: Batching | None) -> RunsIn:
    """Where the function runs; raises InvalidSettings where it cannot."""
    if asked is None:
        return "loop" if signature.is_async else "thread"
    if asked not in (places := get_args(RunsIn)):
        *first, last = map(repr, places)
        raise InvalidSettings(f"runs_in of {kind!r} cannot be {asked!r}: it is {', '.join(first)} or {last}")
    if asked == "loop" and not signature.is_async:
        raise InvalidSettings(
            f"{kind!r} cannot run in the loop: a plain function would block it; use a thread"
        )
    if asked == "thread" and signature.is_async:
        raise InvalidSettings(
            f"{kind!r} cannot run in a thread: an async function needs the loop or a process"
        )
    if asked == "process" and batching is not None:
        raise InvalidSettings(f"{kind!r} cannot run in a process: a batch is handled in the loop or a thread")
    return asked
