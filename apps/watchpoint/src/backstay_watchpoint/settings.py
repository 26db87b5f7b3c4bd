"""Every setting of the platform, read from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from backstay_watchpoint.domain.brake import BrakeRule
from backstay_watchpoint.domain.forecasts import TIMEOUTS, Model
from backstay_watchpoint.domain.layouts import SourceId
from backstay_watchpoint.domain.plans import PLANS

_LENGTH = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class BadSetting(ValueError):
    """A setting that cannot be read."""


@dataclass(frozen=True, slots=True)
class MirrorSetting:
    """A mirror: its bucket, and its address where that is not Amazon's."""

    bucket: str
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """The mirror as operators know it."""
        return self.bucket if self.endpoint is None else f"{self.bucket}@{self.endpoint}"


@dataclass(frozen=True, slots=True)
class ForecastConfig:
    """Where forecasts come from and how long they may take."""

    upstream_mirrors: Mapping[SourceId, tuple[MirrorSetting, ...]]
    timeouts: Mapping[Model, timedelta] = field(default_factory=lambda: dict(TIMEOUTS))
    mirror_timeout: timedelta = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Settings:
    """The platform's settings; `from_environment` says which variables they come from."""

    database_url: str
    forecast: ForecastConfig
    forecast_bucket: str = "watchpoint-forecasts"
    archive_bucket: str = "watchpoint-archive"
    observation_bucket: str = "observations"
    notification_queue: str = "notification-queue"
    eval_queue: str = "eval-standard"
    aws_endpoint_url: str | None = None
    aws_region: str = "us-east-1"
    aws_access_key: str = ""
    aws_secret_key: str = field(default="", repr=False)
    runpod_url: str = "https://api.runpod.ai"
    runpod_endpoint_id: str = "watchpoint"
    runpod_api_key: str = field(default="", repr=False)
    runpod_callback_url: str | None = None
    callback_secret: str = field(default="", repr=False)
    results_timeout: timedelta = timedelta(hours=2)
    stripe_url: str | None = None
    stripe_secret_key: str = field(default="", repr=False)
    stripe_plans: Mapping[str, str] = field(default_factory=dict)
    smtp_host: str = "127.0.0.1"
    smtp_port: int = 25
    mail_from: str = "alerts@watchpoint.example"
    ops_mail: str = "ops@watchpoint.example"
    secret: str = field(default="", repr=False)
    events_token: str = field(default="", repr=False)
    ops_user: str = "ops"
    ops_password: str = field(default="", repr=False)
    digest_tick: str = "1h"
    has_schedules: bool = True
    """False where EventBridge fires instead: schedules are declared, and stand still."""
    brake: BrakeRule = field(default_factory=BrakeRule)

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings; raises BadSetting with the variable's name."""
        read = _Reader(given)
        return cls(
            database_url=given.get("WATCHPOINT_URL")
            or given.get("BACKSTAY_URL")
            or "sqlite:///watchpoint.db",
            forecast=_forecast(read),
            forecast_bucket=given.get("FORECAST_BUCKET", "watchpoint-forecasts"),
            archive_bucket=given.get("ARCHIVE_BUCKET", "watchpoint-archive"),
            observation_bucket=given.get("OBSERVATION_BUCKET", "observations"),
            notification_queue=given.get("SQS_NOTIFICATIONS", "notification-queue"),
            eval_queue=given.get("SQS_EVAL_STANDARD", "eval-standard"),
            aws_endpoint_url=given.get("AWS_ENDPOINT_URL") or None,
            aws_region=given.get("AWS_REGION", "us-east-1"),
            aws_access_key=given.get("AWS_ACCESS_KEY_ID", ""),
            aws_secret_key=given.get("AWS_SECRET_ACCESS_KEY", ""),
            runpod_url=given.get("RUNPOD_URL", "https://api.runpod.ai"),
            runpod_endpoint_id=given.get("RUNPOD_ENDPOINT_ID", "watchpoint"),
            runpod_api_key=given.get("RUNPOD_API_KEY", ""),
            runpod_callback_url=given.get("RUNPOD_CALLBACK_URL") or None,
            callback_secret=given.get("CALLBACK_SECRET", ""),
            results_timeout=read.length("RESULTS_TIMEOUT", "2h"),
            stripe_url=given.get("STRIPE_URL") or None,
            stripe_secret_key=given.get("STRIPE_SECRET_KEY", ""),
            stripe_plans=read.names("STRIPE_PLANS", tuple(PLANS)),
            smtp_host=given.get("SMTP_HOST", "127.0.0.1"),
            smtp_port=read.number("SMTP_PORT", 25),
            mail_from=given.get("MAIL_FROM", "alerts@watchpoint.example"),
            ops_mail=given.get("OPS_MAIL", "ops@watchpoint.example"),
            secret=given.get("WATCHPOINT_SECRET", ""),
            events_token=given.get("EVENTS_TOKEN", ""),
            ops_user=given.get("OPS_USER", "ops"),
            ops_password=given.get("OPS_PASSWORD", ""),
            digest_tick=read.choice("DIGEST_TICK", "1h", ("15m", "1h")),
            has_schedules=read.choice("SCHEDULES", "on", ("on", "off")) == "on",
            brake=BrakeRule(minimum=read.number("BRAKE_MINIMUM", BrakeRule().minimum)),
        )


def _forecast(read: _Reader) -> ForecastConfig:
    return ForecastConfig(
        upstream_mirrors={
            SourceId.GFS: read.mirrors("UPSTREAM_MIRRORS", "noaa-gfs-bdp-pds,aws-noaa-gfs"),
            SourceId.GOES: read.mirrors("GOES_MIRRORS", "noaa-goes16"),
            SourceId.MRMS: read.mirrors("MRMS_MIRRORS", "noaa-mrms-pds"),
        },
        timeouts={
            Model.NOWCAST: read.length("TIMEOUT_NOWCAST", "20m"),
            Model.MEDIUM_RANGE: read.length("TIMEOUT_MEDIUM_RANGE", "3h"),
        },
        mirror_timeout=read.length("MIRROR_TIMEOUT", "5s"),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    given: Mapping[str, str]

    def number(self, name: str, default: int) -> int:
        text = self.given.get(name, str(default))
        if not text.isdigit():
            raise BadSetting(f"{name} must be a whole number, not {text!r}")
        return int(text)

    def length(self, name: str, default: str) -> timedelta:
        text = self.given.get(name, default)
        found = _LENGTH.fullmatch(text)
        if found is None:
            raise BadSetting(f"{name} must be a length of time such as 20m or 3h, not {text!r}")
        return timedelta(**{_UNITS[found[2]]: int(found[1])})

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        text = self.given.get(name, default)
        if text not in choices:
            raise BadSetting(f"{name} must be {' or '.join(choices)}, not {text!r}")
        return text

    def names(self, name: str, choices: tuple[str, ...]) -> dict[str, str]:
        found = {}
        for part in filter(None, (part.strip() for part in self.given.get(name, "").split(","))):
            theirs, _, ours = part.partition("=")
            if not theirs or ours not in choices:
                raise BadSetting(
                    f"{name} must be pairs such as price_123=pro, separated by commas, with one of "
                    f"{', '.join(choices)} on the right, not {part!r}"
                )
            found[theirs] = ours
        return found

    def mirrors(self, name: str, default: str) -> tuple[MirrorSetting, ...]:
        found = []
        for part in self.given.get(name, default).split(","):
            bucket, _, endpoint = part.strip().partition("@")
            if not bucket:
                raise BadSetting(
                    f"{name} must be buckets separated by commas, each with @address where it has one"
                )
            found.append(MirrorSetting(bucket, endpoint or None))
        return tuple(found)
