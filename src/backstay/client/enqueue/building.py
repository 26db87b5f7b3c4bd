"""Turns a checked call and its options into a job that is ready to be stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from backstay.client.enqueue.debounce import quieted
from backstay.errors import InvalidPayload
from backstay.handlers import codec
from backstay.handlers.fidelity import alteration
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import AlikeJobs, JobId, NewJob
from backstay.model.limits.keys import bounded, filled
from backstay.model.policy.policy import Policy, PolicyChange, duration, for_job, merge, resolve, to_json
from backstay.model.policy.profile import Profile
from backstay.model.signals import Wait, held_reason
from backstay.options import NO_OPTIONS, JobOptions
from backstay.runtime.env import Env

LONGEST = timedelta(days=3653)
_POLICY_OPTIONS = ("max_attempts", "max_crashes", "timeout", "lease", "backoff")
_NO_CHANGE = PolicyChange()
_NOTHING_ELSE = tuple(NewJob._field_defaults.values())[3:]
"""What follows `is_plain` in a job that is plain."""
# What only tells where it came from: two jobs may ask for the same one.
_NOT_PART_OF_THE_JOB = frozenset({"tx", "key", "created_by", "parent", "correlation_id"})


@dataclass
class Builder:
    """Builds jobs by the rules of one application's profile."""

    profile: Profile
    env: Env
    settings: PolicyChange = _NO_CHANGE
    _policies: dict[tuple[str, str], Policy] = field(default_factory=dict)
    carry: Callable[[HandlerSpec], Mapping[str, str]] | None = None
    """Says what each job's metadata are to carry besides, such as the trace that it belongs to."""

    def build(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> NewJob:
        """The job; raises an InvalidJob or InvalidPolicy that names the option, and then nothing was stored."""
        job = self._plain(spec, args_text) if options is NO_OPTIONS else self._built(spec, args_text, options)
        return job if self.carry is None else carrying(job, self.carry(spec))

    def _built(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> NewJob:
        queue = spec.queue if options.queue is None else codec.check_name("queue", options.queue)
        own = _own_policy(options)
        policy = for_job(self.policy_of(spec, queue), own)
        _refuse_too_large(args_text, policy)
        priority = policy.priority if options.priority is None else self.profile.rank(options.priority)
        run_at, limits = self._moment("run_at", options.run_at), self._limits(options, policy)
        quiet = quieted(spec.kind, options)
        timing = {"delay": _length("delay", options.delay)} | (quiet or _keys(self, spec, args_text, options))
        return NewJob(
            id=JobId(self.env.new_id()),
            kind=spec.kind,
            queue=queue,
            args=args_text,
            priority=priority,
            ageing_step=policy.ageing_step,
            run_at=run_at,
            tenant=_key("tenant", options.tenant) or "",
            name=_key("name", options.name),
            description=_text("description", options.description),
            tags=_tags(options),
            metadata=_metadata(options.metadata),
            policy=to_json(own),
            max_attempts=own.fields.get("max_attempts"),
            timeout=own.fields.get("timeout"),
            lease=own.fields.get("lease"),
            parent_id=_parent(options),
            correlation_id=_key("correlation_id", options.correlation_id),
            created_by=_key("created_by", options.created_by),
            **timing,
            order_key=_order_key(spec, args_text, options.tenant or ""),
            **self._place(spec.kind, queue, options.category),
            postpone=_postponing(policy),
            **_holding(options),
            **limits,
        )

    def build_alike(self, spec: HandlerSpec, args_texts: Sequence[str]) -> AlikeJobs | None:
        """Jobs of one kind without options; None where there are none, or where a kind's jobs are not plain."""
        if (
            self.carry is not None
            or not args_texts
            or not (first := self._plain(spec, args_texts[0])).is_plain
        ):
            return None
        policy = self.policy_of(spec, spec.queue)
        if max(map(len, args_texts)) * 4 > policy.max_payload_bytes:
            for text in args_texts:
                _refuse_too_large(text, policy)
        return AlikeJobs(first, cast("list[JobId]", self.env.new_ids(len(args_texts))), args_texts)

    def _plain(self, spec: HandlerSpec, args_text: str) -> NewJob:
        policy = self.policy_of(spec, spec.queue)
        # A character has four bytes at most.
        if len(args_text) * 4 > policy.max_payload_bytes:
            _refuse_too_large(args_text, policy)
        new_id = cast(JobId, self.env.new_id())
        if (
            policy.expires_after is None
            and policy.deadline_after is None
            and spec.limits.ordered_by is None
            and policy.postpone_above is None
            and not self.profile.has_places
        ):
            # Not NewJob(…), which looks every field up by its name: this is what most jobs go through.
            own = (new_id, spec.kind, spec.queue, args_text, policy.priority, policy.ageing_step, True)
            return tuple.__new__(NewJob, own + _NOTHING_ELSE)
        return NewJob(
            id=new_id,
            kind=spec.kind,
            queue=spec.queue,
            args=args_text,
            priority=policy.priority,
            ageing_step=policy.ageing_step,
            expires_in=policy.expires_after,
            deadline_in=policy.deadline_after,
            order_key=_order_key(spec, args_text, ""),
            **self._place(spec.kind, spec.queue, None),
            postpone=_postponing(policy),
        )

    def _place(self, kind: str, queue: str, category: str | None) -> dict[str, Any]:
        """Where the profile puts it; raises InvalidPolicy for a lane or category that it does not declare so."""
        if category is not None:
            codec.check_key("category", category)
            self.profile.check_category(category, kind)
        if not self.profile.has_places:
            return {"category": category}
        self.profile.check_lane(queue, kind)
        return {"profile": self.profile.name, "category": category}

    def policy_of(self, spec: HandlerSpec, queue: str) -> Policy:
        """The numbers of a kind in a queue, before any job's own."""
        key = (spec.kind, queue)
        known = self._policies.get(key)
        if known is None:
            known = self._policies[key] = resolve(self.settings, *self.profile.layers(queue), spec.policy)
        return known

    @property
    def general(self) -> Policy:
        """The numbers that belong to a worker and to no queue or kind."""
        return resolve(self.settings, *self.profile.layers(""))

    def _limits(self, options: JobOptions, policy: Policy) -> dict[str, Any]:
        expires = policy.expires_after if options.expires is None else options.expires
        deadline = policy.deadline_after if options.deadline is None else options.deadline
        return {
            "expires_at": self._moment("expires", expires) if isinstance(expires, datetime) else None,
            "expires_in": None if isinstance(expires, datetime) else _length("expires", expires),
            "deadline": self._moment("deadline", deadline) if isinstance(deadline, datetime) else None,
            "deadline_in": None if isinstance(deadline, datetime) else _length("deadline", deadline),
        }

    def _moment(self, option: str, value: object) -> datetime | None:
        if value is None:
            return None
        if not isinstance(value, datetime):
            raise InvalidPayload(
                f"{option} must be a datetime, not {type(value).__name__}", pointer=f"/{option}"
            )
        if value.tzinfo is None:
            raise InvalidPayload(
                f"{option} has no time zone: write datetime(…, tzinfo=UTC) so that it means one moment",
                pointer=f"/{option}",
            )
        if value - self.env.wall() > LONGEST:
            raise InvalidPayload(f"{option} is more than ten years ahead", pointer=f"/{option}")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise InvalidPayload(f"{option} is before the year 1", pointer=f"/{option}") from None

    def _fingerprint(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> str:
        given = {
            option.name: _plain(getattr(options, option.name))
            for option in fields(options)
            if option.name not in _NOT_PART_OF_THE_JOB and getattr(options, option.name) is not None
        }
        return codec.fingerprint(spec.kind, args_text, given)


def _postponing(policy: Policy) -> tuple[int, timedelta] | None:
    return None if policy.postpone_above is None else (policy.postpone_above, policy.postpone_by)


def _refuse_too_large(args_text: str, policy: Policy) -> None:
    size, most = len(args_text.encode()), policy.max_payload_bytes
    if size > most:
        raise InvalidPayload(f"arguments: {size:,} bytes of JSON, more than the {most:,} allowed")


def _order_key(spec: HandlerSpec, args_text: str, tenant: str) -> str | None:
    template = spec.limits.ordered_by
    return None if template is None else bounded(filled(template, codec.decode(args_text), tenant))


def _own_policy(options: JobOptions) -> PolicyChange:
    named = {name: getattr(options, name) for name in _POLICY_OPTIONS if getattr(options, name) is not None}
    given = options.policy
    own = PolicyChange(dict(given)) if isinstance(given, Mapping) else given
    if not named:
        return own or _NO_CHANGE
    return merge(own, PolicyChange(named))


def _keys(builder: Builder, spec: HandlerSpec, args_text: str, options: JobOptions) -> dict[str, Any]:
    unique_key, unique_for = _uniqueness(spec, args_text, options)
    return {
        "idempotency_key": None if options.key is None else codec.check_key("key", options.key),
        "unique_key": unique_key,
        "unique_for": unique_for,
        "fingerprint": builder._fingerprint(spec, args_text, options) if options.key is not None else None,
    }


def _uniqueness(
    spec: HandlerSpec, args_text: str, options: JobOptions
) -> tuple[str | None, timedelta | None]:
    if options.unique is None or options.unique is False:
        if options.unique_for is not None:
            raise InvalidPayload("unique_for needs unique as well: a key, or True", pointer="/unique_for")
        return None, None
    if options.unique is True:
        key = f"{spec.kind}:{codec.fingerprint(spec.kind, args_text, {})}"
    else:
        key = codec.check_key("unique", options.unique)
    length = _length("unique_for", options.unique_for)
    if length is not None and length < timedelta(milliseconds=1):
        raise InvalidPayload("unique_for must be at least a millisecond", pointer="/unique_for")
    return key, length


def _holding(options: JobOptions) -> dict[str, Any]:
    """What the job waits for besides time."""
    if options.wait_for is None:
        if options.wait_timeout is not None:
            raise InvalidPayload(
                "wait_timeout needs wait_for as well: a signal's name", pointer="/wait_timeout"
            )
        return {"held_for": _key("held_for", options.held_for)}
    if options.held_for is not None:
        raise InvalidPayload(
            "give either held_for or wait_for: a job is held for one thing", pointer="/wait_for"
        )
    name = codec.check_key("wait_for", options.wait_for)
    wait = Wait(name, timeout=_length("wait_timeout", options.wait_timeout))
    return {"held_for": held_reason(name), "wait": wait}


def _length(option: str, value: object) -> timedelta | None:
    if value is None:
        return None
    length = duration(value, field=option)
    if length > LONGEST:
        raise InvalidPayload(f"{option} is more than ten years", pointer=f"/{option}")
    return length


def _key(option: str, value: str | None) -> str | None:
    return None if value is None or value == "" else codec.check_key(option, value)


def _text(option: str, value: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidPayload(f"{option} must be text, not {type(value).__name__}", pointer=f"/{option}")
    codec.encode(value, what=option)
    return value


def _metadata(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidPayload(
            f"metadata must be a mapping of names to values, not {type(value).__name__}", pointer="/metadata"
        )
    given = dict(value)
    text = codec.encode(given, what="metadata")
    if (altered := alteration(given, codec.decode(text), "")) is not None:
        raise InvalidPayload(f"metadata: {altered[0]}", pointer=f"/metadata/{altered[1]}")
    return text


def _tags(options: JobOptions) -> str | None:
    if options.tags is None:
        return None
    if isinstance(options.tags, str):
        raise InvalidPayload("tags must be several texts, not one", pointer="/tags")
    return codec.encode([codec.check_key("tags", tag) for tag in options.tags], what="tags")


def _parent(options: JobOptions) -> JobId | None:
    if options.parent is None:
        return None
    if not isinstance(options.parent, UUID):
        raise InvalidPayload("parent must be a job's id", pointer="/parent")
    return JobId(options.parent)


def _plain(value: Any) -> Any:
    """An option as JSON, so that equal options have equal fingerprints."""
    match value:
        case timedelta():
            return value.total_seconds()
        case datetime():
            return value.astimezone(UTC).isoformat()
        case UUID():
            return str(value)
        case PolicyChange():
            return to_json(value)
        case None | str() | bool() | int() | float() | list() | tuple() | dict():
            return value
        case _:
            return repr(value)


def carrying(job: NewJob, more: Mapping[str, str]) -> NewJob:
    """The job with more metadata, which do not make it another job for its idempotency key."""
    if not more:
        return job
    known = {} if job.metadata is None else json.loads(job.metadata)
    return job._replace(metadata=json.dumps({**known, **more}), is_plain=False)
