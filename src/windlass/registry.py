"""Which kinds of jobs there are, and which functions handle them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec

from windlass import argument_schema, codec
from windlass.all_or_none import make_all
from windlass.batch import Batching
from windlass.errors import InvalidArguments, InvalidPayload, InvalidSettings, UnknownKind
from windlass.fairness import Fair, fair_queue
from windlass.limits import (
    NO_LIMITS,
    KindLimits,
    QueueLimits,
    declared,
    key_problem,
    refuse_unknown,
)
from windlass.limits import fields as key_fields
from windlass.plain_calls import NO_PLAIN_CALLS, PlainCalls, plain_calls
from windlass.policy import PolicyChange, to_json
from windlass.promotion import Promoted, PromotedField, problem, refuse_disagreement, resolve
from windlass.signature import Signature, decoder_for, read_batch_signature, read_signature

RunsIn = Literal["loop", "thread", "process"]
DEFAULT_QUEUE = "default"


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
    promoted: tuple[PromotedField, ...] = ()
    limits: KindLimits = NO_LIMITS
    batching: Batching | None = None
    """Set where the function handles many jobs at once."""
    arguments: Mapping[str, Any] | None = None
    """The schema of what the handler takes, where another process has it and only that is known here."""

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

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.signature.schema() if self.signature else {"type": "object"}

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
        if self.limits:
            options["limits"] = str(self.limits)
        return codec.fingerprint(self.kind, "{}", options)

    @cached_property
    def _max_payload_bytes(self) -> int:
        limit: int = (self.policy or PolicyChange()).fields.get("max_payload_bytes", codec.MAX_BYTES)
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
        elif self.arguments is not None:
            self._read(argument_schema.reader_of(self.arguments), text)
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
        for promoted in self.promoted:
            wrong = problem(promoted, arguments.get(promoted.field))
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
        needed = {one.field for one in self.promoted}.union(*map(key_fields, self.limits.templates))
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

    def _check_one(self, signature: Signature, name: str, value: object) -> None:
        if name in signature.text_names and not isinstance(value, str):
            raise InvalidArguments(self.kind, f"Expected `str`, got `{type(value).__name__}`", field=name)
        decoder = decoder_for(signature.annotations[name], f"{self.kind}: {name}")
        try:
            decoder.decode(codec.encode(value))
        except msgspec.ValidationError as error:
            raise InvalidArguments(self.kind, _problem_and_field(str(error))[0], field=name) from error

    def _check_types(self, signature: Signature, given: Mapping[str, Any], text: str) -> None:
        for name in signature.text_names:
            value = given.get(name, "")
            # A UUID or date would be written as text and so come back to the handler as another type.
            if not isinstance(value, str):
                raise InvalidArguments(self.kind, f"Expected `str`, got `{type(value).__name__}`", field=name)
        self._read(signature.decoder, text)

    def _read(self, decoder: msgspec.json.Decoder[Any], text: str | bytes) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.ValidationError as error:
            problem, name = _problem_and_field(str(error))
            raise InvalidArguments(self.kind, problem, field=name) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidArguments(self.kind, f"the stored arguments are not JSON: {error}") from error

    def unpack(self, text: str | bytes) -> dict[str, Any]:
        """Read stored arguments as the keyword arguments of the function, in its own types.

        What the job was stored without is left to the function's defaults. A reference time that the function does
        not take is for its context alone. Raises InvalidArguments.
        """
        if self.signature is None:
            raise InvalidArguments(self.kind, "the kind is only declared here: no handler can take it")
        if "reference_time" not in self.signature.names:
            text = codec.without("reference_time", text)
        return self.signature.to_keywords(self._read(self.signature.decoder, text))

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
    promote: Sequence[str | Promoted] = (),
    limits: KindLimits = NO_LIMITS,
    batching: Batching | None = None,
    names: Mapping[str, Any] | None = None,
) -> HandlerSpec:
    """Read a function as a handler; raises InvalidSettings if it cannot be one.

    `names` resolves annotations that the function's module does not know, such as local classes.
    """
    kind = codec.check_name("kind", kind if kind is not None else getattr(function, "__name__", ""))
    read = read_signature if batching is None else read_batch_signature
    signature = read(function, names=names)
    refuse_unknown(kind, limits, signature.names, signature.defaults)
    return HandlerSpec(
        kind=kind,
        queue=codec.check_name("queue", queue),
        function=function,
        signature=signature,
        policy=policy,
        runs_in=_place(kind, runs_in, signature, batching),
        description=_first_line(function.__doc__),
        aliases=tuple(codec.check_name("aliases", alias) for alias in aliases),
        promoted=resolve(kind, promote, signature.annotations) if promote else (),
        limits=limits,
        batching=batching,
    )


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


@dataclass
class Registry:
    """The kinds of one application, found by name or by a retired name, and the limits of its queues."""

    _by_kind: dict[str, HandlerSpec] = field(default_factory=dict)
    _by_name: dict[str, HandlerSpec] = field(default_factory=dict)
    queues: dict[str, QueueLimits] = field(default_factory=dict)
    ceiling: int | None = None
    fair: dict[str, Fair] = field(default_factory=dict)
    """The queues whose tenants take turns."""

    def share_fairly(self, queue: str, weights: Mapping[str, int] | None, *, fair: bool) -> None:
        """Let the tenants of a queue take turns, or no longer."""
        if weights and not fair:
            raise InvalidSettings(f"queue {queue!r} has weights, which only count with fair=True")
        self.fair.pop(queue, None)
        if fair:
            self.fair[queue] = fair_queue(queue, weights)

    def add(self, spec: HandlerSpec) -> HandlerSpec:
        """Register a kind; raises InvalidSettings if one of its names is taken."""
        for name in (spec.kind, *spec.aliases):
            other = self._by_name.get(name)
            if other is not None:
                raise InvalidSettings(
                    f"the kind {name!r} is taken by {_origin(other)}: give {_origin(spec)} another name"
                )
        for promoted in spec.promoted:
            for known in self._by_kind.values():
                for same in known.promoted:
                    refuse_disagreement(spec.kind, promoted, known.kind, same)
        self._by_kind[spec.kind] = spec
        self._by_name.update(dict.fromkeys((spec.kind, *spec.aliases), spec))
        return spec

    def declare(
        self,
        kind: str,
        *,
        queue: str = DEFAULT_QUEUE,
        policy: PolicyChange | None = None,
        promote: Sequence[str | Promoted] = (),
        ordered_by: str | None = None,
    ) -> HandlerSpec:
        """Make known a kind that another process handles, so that it can be enqueued here."""
        kind, queue = codec.check_name("kind", kind), codec.check_name("queue", queue)
        promoted, limits = resolve(kind, promote, None), declared(kind, {"ordered_by": ordered_by})
        return self.add(HandlerSpec(kind=kind, queue=queue, policy=policy, promoted=promoted, limits=limits))

    def get(self, kind: str) -> HandlerSpec:
        """The kind of this name or retired name; raises UnknownKind with the nearest names."""
        spec = self._by_name.get(kind)
        if spec is not None:
            return spec
        error = UnknownKind(kind, known=self._by_kind)
        near = difflib.get_close_matches(kind, self._by_name, n=3)
        if near:
            error.add_note(f"Did you mean {' or '.join(map(repr, near))}?")
        raise error

    def kinds(self) -> tuple[str, ...]:
        """The names of all kinds, without retired ones."""
        return tuple(self._by_kind)

    def handled(self) -> tuple[HandlerSpec, ...]:
        """The kinds that can run in this process."""
        return tuple(spec for spec in self._by_kind.values() if not spec.is_declared_only)

    def __contains__(self, kind: object) -> bool:
        return kind in self._by_name

    def __iter__(self) -> Iterator[HandlerSpec]:
        return iter(self._by_kind.values())

    def __len__(self) -> int:
        return len(self._by_kind)


def _problem_and_field(message: str) -> tuple[str, str]:
    """Take the field out of a message such as "Expected `int`, got `str` - at `$.user.id`"."""
    problem, _, path = message.partition(" - at `")
    if path:
        return problem, path.rstrip("`").removeprefix("$").removeprefix(".")
    words = problem.split("`")
    return problem, words[1] if "field `" in problem and len(words) > 1 else ""


def _origin(spec: HandlerSpec) -> str:
    if spec.function is None:
        return "a declaration"
    return f"{spec.function.__module__}.{getattr(spec.function, '__qualname__', spec.kind)}"


def _first_line(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[0].strip() if lines else ""
