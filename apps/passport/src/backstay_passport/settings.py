"""The application's settings, from `BPC_…` variables of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from backstay_passport.domain.compile import Limits
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.qr import BORDER, SCALE
from backstay_passport.domain.signing import KEY_VARIABLE, SigningKey, read_key

QUEUE_URL = "amqp://guest:guest@127.0.0.1:5672/"


@dataclass(frozen=True)
class Settings:
    """Every setting with its value."""

    database_url: str = "sqlite:///passport.db"
    build_id: str = "UNKNOWN"
    worker_id: str = "worker-1"
    signing_key_id: str = "dev-key-1"
    poll_interval: timedelta = timedelta(milliseconds=1000)
    lease: timedelta = timedelta(seconds=60)
    lease_renew: timedelta = timedelta(seconds=30)
    limits: Limits = field(default_factory=Limits)
    public_url: str = "http://127.0.0.1:8800"
    files_dir: Path | None = None
    webhook_allow: tuple[str, ...] = ()
    webhook_timeout: timedelta = timedelta(seconds=30)
    qr_scale: int = SCALE
    qr_border: int = BORDER
    web_secret: str = ""
    queue_url: str | None = None
    """The message broker that wakes workers; the database does where there is none."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings; a value that cannot be used is named with its variable."""
        given = _Reader(os.environ if environment is None else environment)
        files_dir = given.text("BPC_FILES_DIR", "")
        return cls(
            database_url=given.text("BPC_DATABASE_URL", given.text("BACKSTAY_URL", cls.database_url)),
            build_id=given.text("BPC_COMPILER_BUILD_ID", cls.build_id),
            worker_id=given.text("BPC_WORKER_ID", cls.worker_id),
            signing_key_id=given.text("BPC_SIGNING_KEY_ID", cls.signing_key_id),
            poll_interval=timedelta(milliseconds=given.number("BPC_JOBS_POLL_INTERVAL_MS", 1000)),
            lease=timedelta(seconds=given.number("BPC_JOBS_LEASE_SECONDS", 60)),
            lease_renew=timedelta(seconds=given.number("BPC_JOBS_LEASE_RENEW_SECONDS", 30)),
            limits=Limits(
                payload=given.number("BPC_PAYLOAD_MAX_BYTES", Limits.payload),
                proof=given.number("BPC_PROOF_MAX_BYTES", Limits.proof),
                receipt=given.number("BPC_RECEIPT_MAX_BYTES", Limits.receipt),
            ),
            public_url=given.text("BPC_PUBLIC_URL", cls.public_url),
            files_dir=Path(files_dir) if files_dir else None,
            webhook_allow=tuple(given.text("BPC_WEBHOOK_ALLOW", "").replace(",", " ").split()),
            webhook_timeout=timedelta(seconds=given.number("BPC_WEBHOOK_TIMEOUT_SECONDS", 30)),
            qr_scale=given.number("BPC_QR_SCALE", SCALE),
            qr_border=given.number("BPC_QR_BORDER", BORDER, least=0),
            web_secret=given.text("BPC_WEB_SECRET", ""),
            queue_url=_queue_url(given),
        )

    def signing_key(self, environment: Mapping[str, str] | None = None) -> SigningKey:
        """Read the signing key now: it may be mended while workers run, and is never kept."""
        given = os.environ if environment is None else environment
        return read_key(given.get(KEY_VARIABLE), self.signing_key_id)


def _queue_url(given: _Reader) -> str | None:
    if not given.truth("BPC_QUEUE_ENABLED"):
        return None
    url = given.text("BPC_QUEUE_URL", QUEUE_URL)
    if not url.startswith(("amqp://", "amqps://")):
        raise InvalidInput("BPC_QUEUE_URL does not begin with amqp:// or amqps://")
    return url


@dataclass(frozen=True)
class _Reader:
    environment: Mapping[str, str]

    def text(self, name: str, default: str) -> str:
        return self.environment.get(name, "").strip() or default

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        written = self.text(name, str(default))
        if not written.isdigit() or int(written) < least:
            raise InvalidInput(f"{name}={written!r} is not a whole number of at least {least}")
        return int(written)

    def truth(self, name: str) -> bool:
        written = self.text(name, "false").lower()
        if written not in ("true", "false", "1", "0", "yes", "no"):
            raise InvalidInput(f"{name}={written!r} is neither true nor false")
        return written in ("true", "1", "yes")
