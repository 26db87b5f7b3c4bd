"""Where everything is: read from the environment, checked before anything starts."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from backstay_aeon.domain.errors import BadSettings

DEVELOPMENT_PASSWORDS = {"postgres", "aeon_redis_dev", "admin"}
LARGEST_TIMEOUT_MS = 3_600_000


@dataclass(frozen=True)
class WorkerSettings:
    """What one worker process is told by its variables."""

    id: str = ""
    type: str = "general"
    is_enabled: bool = True
    job_types: tuple[str, ...] = ("*",)
    concurrency: int = 5
    poll_ms: int = 1000
    heartbeat_ms: int = 10_000
    health_check_ms: int = 30_000
    memory_limit_mb: int = 512
    shutdown_ms: int = 30_000


@dataclass(frozen=True)
class Settings:
    """Every setting with its value."""

    database_url: str
    redis_url: str = ""
    storage: str = "folder:aeon-files"
    public_url: str = "http://127.0.0.1:8300"
    secret: str = field(default_factory=lambda: secrets.token_hex(32))
    is_secret_kept: bool = False
    """Whether the secret was given, so that other processes and later ones have the same."""
    allow_sources: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    max_upload_mb: int = 200
    max_rows: int = 2_000_000
    production: bool = False
    worker: WorkerSettings = field(default_factory=WorkerSettings)

    def __post_init__(self) -> None:
        scheme = urlsplit(self.database_url).scheme
        if scheme not in ("postgresql", "postgres"):
            raise BadSettings(f"AEON_DATABASE_URL must be a postgresql:// address, not {scheme or 'nothing'}")
        if len(self.secret) < 32:
            raise BadSettings("AEON_SECRET must have at least 32 characters")
        if not self.storage.startswith(("folder:", "s3://")):
            raise BadSettings("AEON_STORAGE must be folder:/path or s3://bucket")

    @property
    def folder(self) -> Path:
        """The folder of files, where they are kept in one."""
        return Path(self.storage.removeprefix("folder:"))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read AEON_… and the document's own variables; a value that cannot be used is named."""
        given = Reader(os.environ if environment is None else environment)
        production = given.truth("AEON_PRODUCTION", default=False)
        if production:
            given.refuse_defaults()
        secret = given.text("AEON_SECRET", "")
        return cls(
            database_url=given.database_url(),
            redis_url=given.redis_url(),
            secret=secret or secrets.token_hex(32),
            is_secret_kept=bool(secret),
            storage=given.text("AEON_STORAGE", cls.storage),
            public_url=given.text("AEON_PUBLIC_URL", cls.public_url),
            allow_sources=tuple(given.text("AEON_ALLOW_SOURCES", "").replace(",", " ").split()),
            handlers=tuple(given.text("AEON_HANDLERS", "").replace(",", " ").split()),
            max_upload_mb=given.number("AEON_MAX_UPLOAD_MB", cls.max_upload_mb),
            max_rows=given.number("AEON_MAX_ROWS", cls.max_rows),
            production=production,
            worker=given.worker(),
        )


@dataclass(frozen=True)
class Reader:
    """Reads variables by name, and names the one that is wrong."""

    environment: Mapping[str, str]

    def text(self, name: str, default: str) -> str:
        """A text; an empty variable counts as not set."""
        return self.environment.get(name, "").strip() or default

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number."""
        written = self.text(name, str(default))
        if not written.isdigit() or int(written) < least:
            raise BadSettings(f"{name}={written!r} is not a whole number of at least {least}")
        return int(written)

    def truth(self, name: str, *, default: bool) -> bool:
        """Yes or no."""
        written = self.text(name, "true" if default else "false").lower()
        if written not in ("true", "false", "1", "0", "yes", "no", "on", "off"):
            raise BadSettings(f"{name}={written!r} is neither true nor false")
        return written in ("true", "1", "yes", "on")

    def database_url(self) -> str:
        """AEON_DATABASE_URL, else the parts of the document."""
        whole = self.text("AEON_DATABASE_URL", "")
        if whole:
            return whole
        user = quote(self.text("POSTGRES_USER", "postgres"), safe="")
        password = quote(self.text("POSTGRES_PASSWORD", "postgres"), safe="")
        host, port = self.text("POSTGRES_HOST", "postgres-dev"), self.number("POSTGRES_PORT", 5432)
        return f"postgresql://{user}:{password}@{host}:{port}/{self.text('POSTGRES_DB', 'aeon_saas_dev')}"

    def redis_url(self) -> str:
        """AEON_REDIS_URL, else the parts of the document; empty with AEON_REDIS=off."""
        if not self.truth("AEON_REDIS", default=True):
            return ""
        whole = self.text("AEON_REDIS_URL", "")
        if whole:
            return whole
        password = quote(self.text("REDIS_PASSWORD", "aeon_redis_dev"), safe="")
        host, port = self.text("REDIS_HOST", "aeon-redis"), self.number("REDIS_PORT", 6379)
        return f"redis://:{password}@{host}:{port}/0"

    def refuse_defaults(self) -> None:
        """Refuse the passwords of the development files in production: set, left out, or inside of an address."""
        used = {
            "POSTGRES_PASSWORD or AEON_DATABASE_URL": urlsplit(self.database_url()).password,
            "REDIS_PASSWORD or AEON_REDIS_URL": urlsplit(self.redis_url()).password,
            "REDIS_COMMANDER_PASSWORD": self.text("REDIS_COMMANDER_PASSWORD", ""),
        }
        for names, password in used.items():
            if unquote(password or "") in DEVELOPMENT_PASSWORDS:
                raise BadSettings(
                    f"{names}: a password for development is used; set another one in production"
                )
        if not self.text("AEON_SECRET", ""):
            raise BadSettings("AEON_SECRET must be set in production")

    def worker(self) -> WorkerSettings:
        """The variables of a worker; where two names mean the same, the first one set counts."""
        types = tuple(one.strip() for one in self.text("JOB_TYPES", "*").split(",") if one.strip())
        concurrency = self.number("WORKER_CONCURRENCY", 5)
        poll = self.number("WORKER_POLL_INTERVAL", 1000)
        limit = self.number("MEMORY_LIMIT_MB", 512)
        container = self.number("CONTAINER_MEMORY_MB", 0, least=0)
        if container and limit > container:
            raise BadSettings(f"MEMORY_LIMIT_MB={limit} is above the container's {container} MB")
        return WorkerSettings(
            id=self.text("WORKER_ID", f"worker-{os.getpid()}"),
            type=self.text("WORKER_TYPE", "general"),
            is_enabled=self.truth("WORKER_ENABLED", default=True),
            job_types=types,
            concurrency=self.number("MAX_CONCURRENT_JOBS", concurrency),
            poll_ms=self.number("POLL_INTERVAL", poll),
            heartbeat_ms=self.number("HEARTBEAT_INTERVAL", 10_000),
            health_check_ms=self.number("HEALTH_CHECK_INTERVAL", 30_000),
            memory_limit_mb=limit,
            shutdown_ms=self.number("SHUTDOWN_TIMEOUT", 30_000, least=0),
        )
