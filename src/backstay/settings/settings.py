"""Which settings there are: what each is for, what it may be, and the names it has in the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from backstay.errors import InvalidPolicy
from backstay.model.alerts import thresholds_of
from backstay.model.backoff import Backoff
from backstay.model.checks import Check, number, optional, whole
from backstay.model.policy.fields import ABOUT
from backstay.model.policy.policy import CHECKS, Policy
from backstay.model.text.durations import duration, seconds, written

DEFAULT_URL = "sqlite:///backstay.db"
PREFIX = "BACKSTAY_"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for a setting in the environment, and how its text is meant.

    A `general` name may well mean something else to another program, so it is read only where that was asked for.
    """

    name: str
    meant: Callable[[str], str] = str
    general: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting; `read` takes text or a value of the right type and raises InvalidPolicy for anything else."""

    name: str
    read: Check
    default: Any
    about: str
    aliases: tuple[Alias, ...] = ()
    follows: str = ""

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.name.upper()

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        try:
            self.read(self.name, object())
        except InvalidPolicy as refused:
            return refused.needs
        return "any text"


def hide_password(url: str) -> str:
    """The URL, fit to be shown."""
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":***@", 1) if parts.password else url


def shown(name: str, value: object) -> str:
    """A value as it could be written again, but without a password."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case timedelta():
            return written(value)
        case Mapping():
            return ",".join(f"{key}={one:g}" for key, one in value.items()) or "none"
        case tuple():
            return ",".join(map(str, value))
        case str() if "://" in value:
            return hide_password(value)
        case _:
            return str(value)


@cache
def catalogue() -> Mapping[str, Setting]:
    """Every setting by its name: those of an installation first, then the numbers of a policy."""
    return {setting.name: setting for setting in (*_OWN, *_policy_settings())}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidPolicy(name, value, needs="a text")
    return value.strip()


def _url(name: str, value: object) -> str:
    needs = "a URL that begins with sqlite:// or postgresql://"
    if not isinstance(value, str) or not re.match(r"(sqlite|postgres|postgresql)://", value.strip()):
        if isinstance(value, str) and re.fullmatch(r"[^:?#]+\.(db|sqlite3?)", value.strip()):
            needs += f", such as sqlite:///{value.strip()}"
        raise InvalidPolicy(name, hide_password(value) if isinstance(value, str) else value, needs=needs)
    return value.strip()


def _carrier(name: str, value: object) -> str:
    if not isinstance(value, str) or not re.match(r"(rediss?|amqps?)://", value.strip()):
        needs = "a URL that begins with redis:// or amqp://"
        raise InvalidPolicy(name, hide_password(value) if isinstance(value, str) else value, needs=needs)
    return value.strip()


def _redis(name: str, value: object) -> str:
    if not isinstance(value, str) or not re.match(r"rediss?://", value.strip()):
        given = hide_password(value) if isinstance(value, str) else value
        raise InvalidPolicy(name, given, needs="a URL that begins with redis://")
    return value.strip()


def _names(name: str, value: object) -> tuple[str, ...] | None:
    if value == "*":
        return None
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InvalidPolicy(name, value, needs="names with commas between them, or a list of names")
    names = tuple(one.strip() for one in given if one.strip())
    if not names:
        raise InvalidPolicy(name, value, needs="at least one name, or * for all")
    return names


def _one_of(*words: str) -> Check:
    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or value.lower() not in words:
            raise InvalidPolicy(name, value, needs=f"one of {', '.join(words)}")
        return value.lower()

    return check


def _within(shortest: timedelta, longest: timedelta) -> Check:
    def check(name: str, value: object) -> timedelta:
        needs = f"a duration from {written(shortest)} to {written(longest)}"
        try:
            read = duration(value)
        except InvalidPolicy:
            raise InvalidPolicy(name, value, needs=needs) from None
        if not shortest <= read <= longest:
            raise InvalidPolicy(name, value, needs=needs)
        return read

    return check


def _from_text(check: Check) -> Check:
    """Let the check also take what the environment can give: texts that stand for numbers, flags and nothing."""

    def read(name: str, value: object) -> Any:
        if not isinstance(value, str):
            return check(name, value)
        *others, text = _meanings(value.strip())
        for meaning in others:
            with suppress(InvalidPolicy):
                return check(name, meaning)
        return check(name, text)

    return read


def _meanings(text: str) -> list[object]:
    words: dict[str, object] = {"none": None, "never": None}
    flags = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    found: list[object] = [table[text.lower()] for table in (words, flags) if text.lower() in table]
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        found.append(int(text))
    elif re.fullmatch(r"[+-]?[0-9]{1,18}\.[0-9]{1,9}", text):
        found.append(float(text))
    return [*found, text]


def _milliseconds(text: str) -> str:
    return f"{text.strip()}ms"


def _one_more(text: str) -> str:
    # Retries are counted after the first attempt.
    return str(int(text) + 1) if re.fullmatch(r"\s*[0-9]{1,9}\s*", text) else text


def _pooled(url: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}pooled=true"


_OWN: tuple[Setting, ...] = (
    Setting(
        name="url",
        read=_url,
        default=DEFAULT_URL,
        about="the database; where `aliases` is `all` also POSTGRES_HOST, POSTGRES_DB and POSTGRES_USER, if all "
        "of them are set",
        aliases=(Alias("SUPABASE_CONNECTION_POOLER_URL", _pooled, general=True),),
    ),
    Setting(
        name="app",
        read=_from_text(optional(_text)),
        default=None,
        about="the application that commands act on, as module:name",
    ),
    Setting(
        name="aliases",
        read=_one_of("usual", "all", "none"),
        default="usual",
        about="which other names are read from the environment: `all` includes those that may mean "
        "something else to other programs",
    ),
    Setting(
        name="wakeups",
        read=_from_text(optional(_carrier)),
        default=None,
        about="what carries hints between processes: redis://… or amqp://…, where `aliases` is `all` also REDIS_URL "
        "or REDIS_HOST; the database itself where not set",
    ),
    Setting(
        name="dispatch",
        read=_from_text(optional(_redis)),
        default=None,
        about="a Redis that suggests to workers which jobs to claim: redis://…, with ?prefix=… for its keys",
    ),
    Setting(
        name="read_url",
        read=_from_text(optional(_url)),
        default=None,
        about="a replica of the database, for lists and figures that may be a little late; the database itself where "
        "not set, and whenever the replica does not answer",
    ),
    Setting(
        name="worker_id",
        read=_from_text(optional(_text)),
        default=None,
        about="the readable part of a worker's id, with `${NAME}` for variables; host and process where not set",
        aliases=(Alias("WORKER_ID"),),
    ),
    Setting(
        name="queues",
        read=_from_text(optional(_names)),
        default=None,
        about="the queues a worker looks into; all of its kinds' where not set",
    ),
    Setting(
        name="kinds",
        read=_from_text(optional(_names)),
        default=None,
        about="the kinds a worker runs; all it has handlers for where not set",
        aliases=(Alias("JOB_TYPES", general=True),),
    ),
    Setting(
        name="log",
        read=_from_text(optional(_one_of("json", "console"))),
        default=None,
        about="how `backstay worker` writes log lines; console on a terminal, otherwise json",
    ),
    Setting(
        name="log_level",
        read=_one_of("debug", "info", "warning", "error"),
        default="info",
        about="the quietest events that `backstay worker` logs",
    ),
    Setting(
        name="tick",
        read=_from_text(_within(timedelta(milliseconds=100), timedelta(seconds=10))),
        default=timedelta(seconds=5),
        about="how often a worker gives a sign of life, and the leader looks after jobs",
        aliases=(Alias("HEARTBEAT_INTERVAL", _milliseconds, general=True),),
    ),
    Setting(
        name="leader_lease",
        read=_from_text(_within(timedelta(milliseconds=200), timedelta(minutes=5))),
        default=timedelta(seconds=11),
        about="how long a leader that fell silent stays leader; at least two ticks",
        follows="2.2 times tick",
    ),
    Setting(
        name="worker_timeout",
        read=_from_text(_within(timedelta(milliseconds=300), timedelta(hours=1))),
        default=timedelta(seconds=30),
        about="after how long without a sign of life a worker is given up for dead; at least three ticks",
        follows="6 times tick",
    ),
    Setting(
        name="forget_workers_after",
        read=_from_text(_within(timedelta(hours=1), timedelta(days=3650))),
        default=timedelta(days=7),
        about="how long workers that left are still listed",
    ),
    Setting(
        name="archive_every",
        read=_from_text(_within(timedelta(seconds=1), timedelta(days=1))),
        default=timedelta(minutes=10),
        about="how often the leader removes finished jobs that were kept long enough",
    ),
    Setting(
        name="archive_to",
        read=_from_text(optional(_text)),
        default=None,
        about="where finished jobs go before they are removed: a folder, or s3://bucket/prefix; nowhere where not set",
    ),
    Setting(
        name="client_connections",
        read=_from_text(whole(1, 100)),
        default=5,
        about="how many connections one event loop of an application may open for its calls",
    ),
    Setting(
        name="alert_thresholds",
        read=thresholds_of,
        default={},
        about="above which numbers alert rules hold, as in dlq_accumulation=10,slow_jobs=5000; for rules that are "
        "not named the usual ones",
    ),
)

_BACKOFF_PARTS: tuple[tuple[str, Check, str, tuple[Alias, ...]], ...] = (
    (
        "base",
        _within(timedelta(0), timedelta(days=365)),
        "how long to wait before the first retry",
        (Alias("RETRY_DELAY", _milliseconds, general=True),),
    ),
    (
        "multiplier",
        number(1, 100),
        "what the wait is multiplied by each time",
        (Alias("BACKOFF_MULTIPLIER", general=True),),
    ),
    (
        "cap",
        optional(_within(timedelta(0), timedelta(days=365))),
        "where the wait stops growing; none lets it grow",
        (),
    ),
    ("jitter", number(0, 1), "how far the wait is spread to both sides, as a share", ()),
)

_POLICY_ALIASES: Mapping[str, tuple[Alias, ...]] = {
    "max_attempts": (Alias("MAX_RETRIES", _one_more, general=True),),
    "timeout": (Alias("DEFAULT_TIMEOUT", _milliseconds, general=True),),
    "max_timeout": (Alias("MAX_TIMEOUT", _milliseconds, general=True),),
    "lease": (Alias("BPC_JOBS_LEASE_SECONDS"),),
    "renew_every": (Alias("BPC_JOBS_LEASE_RENEW_SECONDS"),),
    "concurrency": (Alias("WORKER_CONCURRENCY"), Alias("MAX_CONCURRENT_JOBS")),
    "poll_busy": (
        Alias("WORKER_POLL_INTERVAL", _milliseconds),
        Alias("BPC_JOBS_POLL_INTERVAL_MS", _milliseconds),
        Alias("POLL_INTERVAL", _milliseconds, general=True),
    ),
    "shutdown_grace": (Alias("SHUTDOWN_TIMEOUT", _milliseconds, general=True),),
    "max_payload_bytes": (Alias("BPC_PAYLOAD_MAX_BYTES"),),
}


def _policy_settings() -> list[Setting]:
    usual, backoff = Policy(), Backoff()
    found: list[Setting] = []
    for field in fields(Policy):
        if field.name == "backoff":
            found += [
                Setting(
                    name=f"backoff_{part}",
                    read=_from_text(check),
                    default=getattr(backoff, part),
                    about=about,
                    aliases=aliases,
                )
                for part, check, about, aliases in _BACKOFF_PARTS
            ]
        elif field.name != "classes":
            found.append(
                Setting(
                    name=field.name,
                    read=_from_text(CHECKS[field.name]),
                    default=getattr(usual, field.name),
                    about=ABOUT[field.name],
                    aliases=_POLICY_ALIASES.get(field.name, ()),
                )
            )
    return found


def backoff_of(parts: Mapping[str, Any]) -> Backoff:
    """The backoff that settings have put together part by part."""
    usual = Backoff()
    given = {part: parts.get(f"backoff_{part}", getattr(usual, part)) for part, *_ in _BACKOFF_PARTS}
    return Backoff(**{key: seconds(one) if isinstance(one, timedelta) else one for key, one in given.items()})
