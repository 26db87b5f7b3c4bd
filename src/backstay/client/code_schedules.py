"""The schedules that an application's code declares, collected until a worker stores them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from backstay.client.declaring import declarer
from backstay.client.enqueue.building import Builder
from backstay.client.scheduling import Asked, Declared, Timing, declare, define, first_fire
from backstay.errors import InvalidSettings
from backstay.handler import BoundHandler, Handler
from backstay.model.events import Emit
from backstay.options import NO_OPTIONS
from backstay.runtime.env import Env
from backstay.stores.contract import Stores

H = TypeVar("H", bound=Handler[..., Any] | BoundHandler[..., Any])


@dataclass
class CodeSchedules:
    """What `@app.schedule(…)` has declared."""

    builder: Builder
    env: Env
    declared: dict[tuple[str, str], Declared] = field(default_factory=dict)

    def decorator(self, name: str | None, cron: str | None, asked: Timing) -> Callable[[H], H]:
        """Declares a schedule for the handler that it is put above, and gives the handler back."""
        if cron is not None:
            asked = {**asked, "cron": cron}

        def decorate(handler: H) -> H:
            self.add(name, handler, Asked(**asked))
            return handler

        return decorate

    def add(
        self, name: str | None, handler: Handler[..., Any] | BoundHandler[..., Any], asked: Asked
    ) -> None:
        """Declare one; raises InvalidSettings for a name that is taken, InvalidSchedule for what cannot be."""
        if not isinstance(handler, Handler | BoundHandler):
            raise InvalidSettings("put @app.schedule(…) above @app.job, so that it gets the handler")
        options = handler._options if isinstance(handler, BoundHandler) else NO_OPTIONS
        spec, name = handler.spec, name or handler.spec.kind
        definition = define(name, spec, options, asked, self.builder)
        if asked.at is None and asked.expires_at is None:
            # A moment may well be in the past when an old release is started again; a rule has no such excuse.
            first_fire(name, replace(definition, is_enabled=True), self.env.wall())
        key = (definition.job.tenant, name)
        if key in self.declared:
            raise InvalidSettings(
                f"the schedule {name!r} is declared twice: give one of them another name, "
                "@app.schedule(…, name=…)"
            )
        route = None if definition.job.queue == spec.queue else (definition.job.queue, spec.kind)
        self.declared[key] = Declared(name, definition, route)

    async def store(self, stores: Stores, emit: Emit) -> None:
        """Store them as a worker does when it starts."""
        await declare(stores, self.all(), by=declarer(), emit=emit, new_id=self.env.new_id)

    def all(self) -> tuple[Declared, ...]:
        """Every one, in the order of the code."""
        return tuple(self.declared.values())
