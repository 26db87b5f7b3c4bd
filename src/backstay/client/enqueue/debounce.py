"""What debounce and throttle ask for, as fields of the job that is to be stored."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from backstay.errors import InvalidPayload
from backstay.handlers import codec
from backstay.model.text.durations import duration
from backstay.options import JobOptions

LIMIT_FACTOR = 10
LONGEST = timedelta(days=366)
SHORTEST = timedelta(milliseconds=1)
_THROTTLE = re.compile(r"1\s*/\s*(\S.*)")


def quieted(kind: str, options: JobOptions) -> dict[str, Any] | None:
    """The fields of a job that is debounced or throttled, its key included; None for any other job.

    Raises InvalidPayload for options that do not go together.
    """
    if options.debounce is None and options.throttle is None:
        if options.debounce_limit is not None:
            raise InvalidPayload("debounce_limit needs debounce as well", pointer="/debounce_limit")
        return None
    if options.debounce is not None and options.throttle is not None:
        raise InvalidPayload(
            "give either debounce or throttle: one waits, the other does not", pointer="/throttle"
        )
    chosen = "debounce" if options.debounce is not None else "throttle"
    if options.unique not in (None, False) or options.unique_for is not None:
        raise InvalidPayload(
            f"{chosen} and unique do not go together: {chosen} has a key of its own", pointer="/unique"
        )
    return _debounced(kind, options) if options.debounce is not None else _throttled(kind, options)


def _debounced(kind: str, options: JobOptions) -> dict[str, Any]:
    if not options.key:
        raise InvalidPayload(
            "debounce needs a key: which jobs are the same, such as 'customer-7'", pointer="/key"
        )
    if options.delay is not None or options.run_at is not None or options.wait_for is not None:
        raise InvalidPayload(
            "debounce sets the time itself: leave out delay, run_at and wait_for", pointer="/debounce"
        )
    if options.tx not in (None, False):
        raise InvalidPayload("debounce cannot be part of a transaction of yours: leave out tx", pointer="/tx")
    delay = _length("debounce", options.debounce)
    limit = delay * LIMIT_FACTOR
    if options.debounce_limit is not None:
        limit = _length("debounce_limit", options.debounce_limit)
    if limit < delay:
        raise InvalidPayload(
            f"debounce_limit is {limit}, shorter than debounce, {delay}", pointer="/debounce_limit"
        )
    # A kind's own, so that no job ever gets the arguments of another kind.
    key = f"{kind}:{codec.check_key('key', options.key)}"
    return {"delay": delay, "debounce_key": key, "longest_debounce": limit}


def _throttled(kind: str, options: JobOptions) -> dict[str, Any]:
    found = _THROTTLE.fullmatch(options.throttle) if isinstance(options.throttle, str) else None
    if found is None:
        raise InvalidPayload(
            f"throttle cannot be {options.throttle!r}: write one job in a length of time, such as '1/10s'; "
            "to run several per period, give the kind a rate",
            pointer="/throttle",
        )
    key = "" if options.key is None else codec.check_key("key", options.key)
    return {"unique_key": f"throttle:{kind}:{key}", "unique_for": _length("throttle", found[1])}


def _length(option: str, value: Any) -> timedelta:
    length = duration(value, field=option)
    if not SHORTEST <= length <= LONGEST:
        raise InvalidPayload(
            f"{option} must be from a millisecond to a year, not {length}", pointer=f"/{option}"
        )
    return length
