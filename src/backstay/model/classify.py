"""What kind of trouble an exception is, so that a policy can say whether another attempt may help.

Evidence is weighed in this order: the exception's type, an HTTP status, a code, and last its text.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, TypeVar

_T = TypeVar("_T")


class ErrorClass(StrEnum):
    """The classes the built-in rules know; a profile may add its own by name."""

    TRANSIENT_NETWORK = "transient_network"
    RATE_LIMIT = "rate_limit"
    TEMPORARY_RESOURCE = "temporary_resource"
    TIMEOUT = "timeout"
    VALIDATION_ERROR = "validation_error"
    AUTHENTICATION_ERROR = "authentication_error"
    NOT_FOUND = "not_found"
    PERMISSION_DENIED = "permission_denied"
    INVALID_INPUT = "invalid_input"
    INTERNAL_ERROR = "internal_error"
    DATABASE_ERROR = "database_error"
    RESULT_INVALID = "result_invalid"
    RETRY_ASKED = "retry_asked"
    CRASHED = "crashed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ErrorRules:
    """An application's own recognition, asked before the built-in one at every step.

    `exceptions` maps a class's name (`shop.errors.SoldOut`, or just `SoldOut`) to an error class and holds
    for subclasses too; `texts` maps words found anywhere in the message, in any case.
    """

    exceptions: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[int, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Classification:
    """What was recognised, and the delay, status and code found on the way."""

    error_class: str
    retry_after: timedelta | None = None
    status: int | None = None
    code: str | None = None


NO_RULES = ErrorRules()
_MAX_CAUSES = 10
LONGEST_RETRY_AFTER = timedelta(days=7)


def classify(
    error: BaseException, rules: ErrorRules = NO_RULES, *, now: datetime | None = None
) -> Classification:
    """Recognise an exception; it never raises, however broken the exception is.

    A Retry-After that names a date is only understood when `now` is given.
    """
    status = _quietly(lambda: _status_of(error))
    code = _quietly(lambda: _code_of(error))
    return Classification(
        error_class=_quietly(lambda: _class_of(error, rules, status, code)) or ErrorClass.UNKNOWN,
        retry_after=_quietly(lambda: _retry_after_of(error, now)),
        status=status,
        code=code or _quietly(lambda: _code_of_cause(error)),
    )


def _quietly(read: Callable[[], _T | None]) -> _T | None:
    try:
        return read()
    except BaseException:  # An exception's own attributes and text are foreign code and may raise anything.
        return None


def _class_of(error: BaseException, rules: ErrorRules, status: int | None, code: str | None) -> str | None:
    inside = _quietly(lambda: _class_of_group(error, rules))
    if inside is not None:
        return inside
    names = _quietly(lambda: list(_names_of(error))) or []
    by_type = _first(names, rules.exceptions) or _first(names, _TYPES)
    if by_type is not None:
        return by_type
    by_number = (
        _by_status(status, rules)
        or _by_code(code, rules)
        or _by_sqlstate(_quietly(lambda: _sqlstate_of(error)))
    )
    if by_number is not None:
        return by_number
    text = _quietly(lambda: str(error)[:4096]) or ""
    return _by_own_text(text, rules) or _first(names, _FAMILIES) or _by_text(text)


def _class_of_group(error: BaseException, rules: ErrorRules) -> str | None:
    if not isinstance(error, BaseExceptionGroup):
        return None
    classes = {classify(inner, rules).error_class for inner in error.exceptions[:100]}
    return classes.pop() if len(classes) == 1 else ErrorClass.UNKNOWN


def _names_of(error: BaseException) -> Iterator[str]:
    for kind in type(error).__mro__:
        yield f"{kind.__module__}.{kind.__qualname__}"
        # Libraries move classes between private modules, so the package and the class are what is stable.
        yield f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        yield kind.__name__


def _first(names: list[str], table: Mapping[str, str]) -> str | None:
    return next((table[name] for name in names if name in table), None)


def _by_status(status: int | None, rules: ErrorRules) -> str | None:
    if status is None:
        return None
    known = rules.statuses.get(status) or _STATUSES.get(status)
    return known or (ErrorClass.TRANSIENT_NETWORK if status >= 500 else None)


def _by_code(code: str | None, rules: ErrorRules) -> str | None:
    return None if code is None else rules.codes.get(code) or _CODES.get(code.upper())


def _by_sqlstate(sqlstate: str | None) -> str | None:
    if sqlstate is None:
        return None
    return _SQLSTATES.get(sqlstate) or _SQLSTATES.get(sqlstate[:2]) or ErrorClass.DATABASE_ERROR


def _by_own_text(text: str, rules: ErrorRules) -> str | None:
    lowered = text.lower()
    return next((name for words, name in rules.texts.items() if words.lower() in lowered), None)


def _by_text(text: str) -> str | None:
    return next((name for pattern, name in _TEXTS if pattern.search(text)), None)


def _status_of(error: BaseException) -> int | None:
    response = _get(error, "response")
    places = (
        (error, "status"),
        (error, "status_code"),
        (error, "code"),
        (response, "status_code"),
        (response, "status"),
    )
    found = [_get(holder, name) for holder, name in places]
    found.append(_item(response, "ResponseMetadata", "HTTPStatusCode"))
    return next((int(value) for value in found if isinstance(value, int) and 400 <= value <= 599), None)


def _code_of(error: BaseException) -> str | None:
    response = _get(error, "response")
    found = [_get(error, "code"), _sqlstate_of(error)]
    found.append(_item(response, "Error", "Code"))
    number = _get(error, "errno")
    if isinstance(error, OSError) and isinstance(number, int):
        found.append(errno.errorcode.get(number))
    return next((str.__str__(value)[:100] for value in found if isinstance(value, str) and value), None)


def _code_of_cause(error: BaseException) -> str | None:
    """The code of the nearest error that this one was raised from: it names the trouble, but does not judge it."""
    for _ in range(_MAX_CAUSES):
        if error.__cause__ is None:
            return None
        error = error.__cause__
        if (code := _code_of(error)) is not None:
            return code
    return None


def _sqlstate_of(error: BaseException) -> str | None:
    # SQLAlchemy wraps the driver's error, which is the one that carries the SQLSTATE.
    holders = (error, _get(error, "orig"))
    found = (_get(holder, name) for holder in holders for name in ("sqlstate", "pgcode"))
    return next((value for value in found if isinstance(value, str) and _SQLSTATE.fullmatch(value)), None)


def _retry_after_of(error: BaseException, now: datetime | None) -> timedelta | None:
    holders = (error, _get(error, "response"))
    given = [_get(error, "after"), _get(error, "retry_after")]
    given += [_item(_get(holder, "headers"), name) for holder in holders for name in _RETRY_AFTER]
    wait = next((wait for wait in (_wait(value, now) for value in given) if wait is not None), None)
    return None if wait is None else min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)


_RETRY_AFTER = ("Retry-After", "retry-after")
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")


def _wait(value: object, now: datetime | None) -> timedelta | None:
    return _quietly(lambda: _read_wait(value, now))


def _read_wait(value: object, now: datetime | None) -> timedelta | None:
    match value:
        case bool():
            return None
        case timedelta():
            return value
        case int() | float():
            return timedelta(seconds=min(value, LONGEST_RETRY_AFTER.total_seconds()))
        case str() if re.fullmatch(r"\s*[0-9]{1,15}(\.[0-9]*)?\s*", value):
            return _read_wait(float(value), now)
        case str() if now is not None:
            date = parsedate_to_datetime(value)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)) - now
        case _:
            return None


def _get(holder: object, name: str) -> Any:
    return _quietly(lambda: getattr(holder, name, None))


def _item(holder: Any, *path: str) -> Any:
    def walk() -> Any:
        inner = holder
        for step in path:
            inner = inner[step]
        return inner

    return _quietly(walk)


_E = ErrorClass

_BY_CLASS: Mapping[ErrorClass, str] = {
    _E.RETRY_ASKED: "backstay.Retry",
    _E.TRANSIENT_NETWORK: """
        builtins.ConnectionError socket.gaierror ssl.SSLError http.RemoteDisconnected http.IncompleteRead
        httpx.ConnectTimeout httpx.PoolTimeout httpx.NetworkError httpx.RemoteProtocolError httpx.ProxyError
        httpx.TransportError httpcore.NetworkError httpcore.RemoteProtocolError
        requests.ConnectTimeout requests.ConnectionError requests.ChunkedEncodingError
        urllib3.ProtocolError urllib3.MaxRetryError urllib3.NewConnectionError
        aiohttp.ClientConnectionError aiohttp.ClientPayloadError
        redis.ConnectionError redis.BusyLoadingError AMQPConnectionError
        kombu.OperationalError smtplib.SMTPServerDisconnected smtplib.SMTPConnectError
        botocore.EndpointConnectionError botocore.ConnectionClosedError botocore.HTTPClientError
        openai.APIConnectionError anthropic.APIConnectionError""",
    _E.TIMEOUT: """
        httpx.TimeoutException httpcore.TimeoutException requests.Timeout urllib3.TimeoutError
        aiohttp.ServerTimeoutError redis.TimeoutError subprocess.TimeoutExpired asyncpg.QueryCanceledError
        botocore.ReadTimeoutError botocore.ConnectTimeoutError APITimeoutError""",
    _E.RATE_LIMIT: "RateLimitError RateLimitExceeded RateLimited TooManyRequests",
    _E.TEMPORARY_RESOURCE: "builtins.MemoryError builtins.BlockingIOError queue.Full",
    _E.NOT_FOUND: "builtins.FileNotFoundError builtins.NotADirectoryError",
    _E.PERMISSION_DENIED: "builtins.PermissionError PermissionDeniedError",
    _E.AUTHENTICATION_ERROR: """
        ssl.SSLCertVerificationError redis.AuthenticationError smtplib.SMTPAuthenticationError
        openai.AuthenticationError anthropic.AuthenticationError
        botocore.NoCredentialsError botocore.PartialCredentialsError asyncpg.InvalidPasswordError""",
    _E.VALIDATION_ERROR: "ValidationError botocore.ParamValidationError",
    _E.INVALID_INPUT: """
        backstay.InvalidJob smtplib.SMTPRecipientsRefused requests.InvalidURL requests.MissingSchema
        requests.InvalidSchema httpx.InvalidURL httpx.UnsupportedProtocol aiohttp.InvalidURL""",
    _E.DATABASE_ERROR: "backstay.StoreError DBUnavailable",
    _E.INTERNAL_ERROR: "sqlite3.ProgrammingError sqlite3.InterfaceError sqlite3.InternalError",
}
_TYPES = {name: error_class for error_class, names in _BY_CLASS.items() for name in names.split()}

# A family speaks only after status and code were silent. A programmer's slip is never judged by its text,
# because "invalid literal for int()" does not make the job's arguments invalid.
_BY_FAMILY: Mapping[ErrorClass, str] = {
    _E.TIMEOUT: "builtins.TimeoutError",
    _E.DATABASE_ERROR: """
        sqlite3.Error asyncpg.PostgresError asyncpg.InterfaceError psycopg.Error psycopg2.Error
        sqlalchemy.DBAPIError sqlalchemy.TimeoutError django.Error""",
    _E.UNKNOWN: """
        builtins.ValueError builtins.TypeError builtins.LookupError builtins.AttributeError builtins.NameError
        builtins.AssertionError builtins.ArithmeticError builtins.ImportError""",
}
_FAMILIES = {name: error_class for error_class, names in _BY_FAMILY.items() for name in names.split()}

_STATUSES: Mapping[int, str] = {
    **dict.fromkeys((400, 422), _E.VALIDATION_ERROR),
    **dict.fromkeys((401, 407), _E.AUTHENTICATION_ERROR),
    **dict.fromkeys((403, 451), _E.PERMISSION_DENIED),
    **dict.fromkeys((404, 410), _E.NOT_FOUND),
    **dict.fromkeys((405, 406, 411, 413, 414, 415), _E.INVALID_INPUT),
    **dict.fromkeys((423, 425), _E.TEMPORARY_RESOURCE),
    408: _E.TIMEOUT,
    429: _E.RATE_LIMIT,
}

_BY_CODE: Mapping[ErrorClass, str] = {
    _E.TRANSIENT_NETWORK: """
        ECONNRESET ETIMEDOUT ECONNREFUSED ECONNABORTED EPIPE EHOSTUNREACH ENETUNREACH ENETDOWN ENOTFOUND
        EAI_AGAIN SERVICE_UNAVAILABLE GATEWAY_TIMEOUT SERVICEUNAVAILABLE INTERNALERROR""",
    _E.RATE_LIMIT: """
        RATE_LIMITED RATE_LIMIT_EXCEEDED TOO_MANY_REQUESTS RESOURCE_EXHAUSTED SLOWDOWN THROTTLING
        THROTTLINGEXCEPTION TOOMANYREQUESTSEXCEPTION REQUESTLIMITEXCEEDED""",
    _E.TIMEOUT: "LLM_TIMEOUT TIMEOUT DEADLINE_EXCEEDED REQUESTTIMEOUT",
    _E.TEMPORARY_RESOURCE: "EAGAIN EBUSY EMFILE ENFILE ENOMEM ENOSPC EDQUOT",
    _E.NOT_FOUND: "ENOENT NOSUCHKEY NOSUCHBUCKET NOT_FOUND",
    _E.PERMISSION_DENIED: "EACCES EPERM EROFS ACCESSDENIED PERMISSION_DENIED",
    _E.AUTHENTICATION_ERROR: "UNAUTHENTICATED INVALIDACCESSKEYID SIGNATUREDOESNOTMATCH EXPIREDTOKEN",
}
_CODES = {code: error_class for error_class, codes in _BY_CODE.items() for code in codes.split()}

_SQLSTATES: Mapping[str, str] = {
    "22": _E.INVALID_INPUT,
    "28": _E.AUTHENTICATION_ERROR,
    "42": _E.INTERNAL_ERROR,
    "42501": _E.PERMISSION_DENIED,
    "57014": _E.TIMEOUT,
}

_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), error_class)
    for pattern, error_class in (
        (r"rate.?limit|too many requests|\b429\b", _E.RATE_LIMIT),
        (
            r"ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|EAI_AGAIN",
            _E.TRANSIENT_NETWORK,
        ),
        (r"connection (was )?(refused|reset|aborted|closed)|network is unreachable", _E.TRANSIENT_NETWORK),
        (r"service unavailable|bad gateway|gateway time-?out", _E.TRANSIENT_NETWORK),
        (r"timed out|time-?out", _E.TIMEOUT),
        (r"deadlock|database is locked|could not serialize", _E.DATABASE_ERROR),
        (r"invalid", _E.VALIDATION_ERROR),
    )
)
