"""Does a stored job look as a test expects, and if not, how does it differ?"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from backstay.client.enqueue.building import Builder
from backstay.errors import InvalidPayload
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import Job, NewJob
from backstay.options import NO_OPTIONS, JobOptions

MOST_SHOWN = 10
NOT_KEPT = (
    "unique",
    "unique_for",
    "debounce",
    "debounce_limit",
    "throttle",
    "wait_for",
    "wait_timeout",
    "tx",
)
"""Options that decide whether and where a job is stored; the job itself does not show them."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option that a job is expected to have, and where the job shows it."""

    name: str
    expected: Any
    found: Callable[[Job], Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """A job as a test describes it: a kind, some of its arguments, some of its options."""

    kind: str
    args: Mapping[str, Any]
    options: Sequence[Option] = ()

    def differences(self, job: Job) -> list[str]:
        """What is not as expected, a few words each; empty when the job fits."""
        if job.kind != self.kind:
            return [f"its kind is {job.kind!r}"]
        return [*self._other_arguments(job), *self._other_options(job)]

    def _other_arguments(self, job: Job) -> Iterable[str]:
        for name, expected in self.args.items():
            if name not in job.args:
                yield f"it has no {name}"
            elif not is_same(expected, job.args[name]):
                yield f"{name} is {job.args[name]!r}, not {expected!r}"

    def _other_options(self, job: Job) -> Iterable[str]:
        for option in self.options:
            found = option.found(job)
            if found != option.expected:
                yield f"{option.name} is {_told(found)}, not {_told(option.expected)}"

    def __str__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.args.items()]
        given += [f"{option.name} {_told(option.expected)}" for option in self.options]
        return f"{self.kind!r}" + (f" with {', '.join(given)}" if given else "")


def expected(
    kind: str, args: Mapping[str, Any], *, spec: HandlerSpec | None, options: JobOptions, builder: Builder
) -> Expected:
    """What a test asks for, checked: an argument that the handler does not have would never be found."""
    if spec is not None and spec.signature is not None:
        strangers = sorted(set(args) - set(spec.signature.names))
        if strangers:
            has = ", ".join(spec.signature.names) or "no arguments"
            raise TypeError(f"{kind!r} has no argument {', '.join(strangers)}: it has {has}")
    if spec is None or options == NO_OPTIONS:
        return Expected(kind, args)
    given = {field.name for field in fields(options) if getattr(options, field.name) is not None}
    for name in NOT_KEPT:
        if name in given:
            raise ValueError(f"the option {name} cannot be seen on a stored job: leave it out")
    built = builder.build(spec, "{}", replace(options, key=None))
    return Expected(kind, args, [_option(name, options, built) for name in sorted(given)])


def is_same(expected: object, stored: object) -> bool:
    """Whether a value, or what becomes of it in JSON, is the stored one."""
    if expected == stored:
        return True
    try:
        return bool(codec.decode(codec.encode(expected)) == stored)
    except InvalidPayload:
        return False


def not_found(wanted: Expected, jobs: Sequence[Job]) -> str:
    """The message of an assertion that found no such job."""
    if not jobs:
        return f"no job {wanted} was enqueued; nothing was."
    nearest = sorted(jobs, key=lambda job: _distance(wanted, job))
    lines = [f"  {shown(job)}: {'; '.join(wanted.differences(job))}" for job in nearest[:MOST_SHOWN]]
    return "\n".join([f"no job {wanted} was enqueued. Nearest first, there are:", *lines, *_rest(jobs)])


def found_after_all(wanted: Expected, jobs: Sequence[Job]) -> str:
    """The message of an assertion that found what should not be there."""
    many = "a job" if len(jobs) == 1 else f"{len(jobs)} jobs"
    lines = [f"  {shown(job)}" for job in jobs[:MOST_SHOWN]]
    return "\n".join([f"{many} {wanted} should not have been enqueued:", *lines, *_rest(jobs)])


def shown(job: Job) -> str:
    """A job on one line, as a call."""
    args = ", ".join(f"{name}={value!r}" for name, value in job.args.items())
    tenant = f", tenant {job.tenant!r}" if job.tenant else ""
    return f"{job.kind}({args}) [{job.state.value}, queue {job.queue!r}{tenant}]"


def _distance(wanted: Expected, job: Job) -> tuple[float, int]:
    if job.kind == wanted.kind:
        return 0.0, len(wanted.differences(job))
    return 1 - difflib.SequenceMatcher(None, wanted.kind, job.kind).ratio() / 2, 0


def _rest(jobs: Sequence[Job]) -> list[str]:
    return [f"  … and {len(jobs) - MOST_SHOWN} more"] if len(jobs) > MOST_SHOWN else []


def _option(name: str, options: JobOptions, built: NewJob) -> Option:
    match name:
        case "delay":
            return Option(name, built.delay, lambda job: job.run_at - job.created_at)
        case "expires" | "deadline":
            return _limit(name, built)
        case "tags":
            return Option(name, tuple(codec.decode(built.tags or "[]")), lambda job: job.tags)
        case "metadata":
            return _some_of(name, codec.decode(built.metadata or "{}"), lambda job: job.metadata)
        case "max_attempts" | "max_crashes" | "timeout" | "lease" | "backoff" | "policy":
            return _some_of(name, codec.decode(built.policy or "{}"), lambda job: job.policy)
        case "key":
            return Option(name, options.key, lambda job: job.idempotency_key)
        case "parent":
            return Option(name, built.parent_id, lambda job: job.parent_id)
        case "held_for":
            return Option(name, built.held_for, lambda job: job.reason)
        case _:
            return Option(name, getattr(built, name), lambda job: getattr(job, name))


def _limit(name: str, built: NewJob) -> Option:
    def found(job: Job) -> datetime | None:
        return job.expires_at if name == "expires" else job.deadline

    def found_after(job: Job) -> timedelta | None:
        moment = found(job)
        return None if moment is None else moment - job.created_at

    moment = built.expires_at if name == "expires" else built.deadline
    length = built.expires_in if name == "expires" else built.deadline_in
    return Option(name, moment, found) if moment is not None else Option(name, length, found_after)


def _some_of(name: str, wanted: dict[str, Any], read: Callable[[Job], dict[str, Any]]) -> Option:
    return Option(name, wanted, lambda job: {key: value for key, value in read(job).items() if key in wanted})


def _told(value: object) -> str:
    return str(value) if isinstance(value, datetime | timedelta) else repr(value)
