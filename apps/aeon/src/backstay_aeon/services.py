"""What handlers, pages and commands work with, put together once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from backstay import Backstay, Handler
from backstay_aeon.files import Files
from backstay_aeon.redis_view import RedisView
from backstay_aeon.settings import Settings
from backstay_aeon.store.database import Database


@dataclass
class Services:
    """Settings, database, files, Redis and jobs of one installation."""

    settings: Settings
    database: Database
    files: Files
    redis: RedisView
    app: Backstay
    handlers: dict[str, Handler[..., Any]] = field(default_factory=dict)

    async def migrate(self) -> list[str]:
        """Bring every table up to this release; safe to run twice and from several processes at once."""
        done = await self.app.migrate()
        return [*done, *await self.database.run_script()]

    async def close(self) -> None:
        """Close what the running event loop has open."""
        await self.app.close()
        await self.database.close()
        await self.redis.close()


@cache
def here() -> Services:
    """The services of this process, by its environment: what a handler works with."""
    from backstay_aeon.jobs import build  # the handlers that it registers import this module

    return build(Settings.from_environment())
