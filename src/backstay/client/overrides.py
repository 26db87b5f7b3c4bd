"""Overrides: numbers of queues and kinds that operators change while everything runs."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from backstay.client.arguments import who, why
from backstay.client.effective_policy import OVERRIDABLE, layers_for
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidPolicy, InvalidSettings, UnknownKind
from backstay.handlers import codec
from backstay.model.backoff import Backoff
from backstay.model.policy.fields import ABOUT, OF_A_WORKER
from backstay.model.policy.policy import PolicyChange, from_json, overridden, resolve, to_json
from backstay.model.records import KindRecord, Override, OverrideScope
from backstay.model.text.durations import duration
from backstay.wakeups.contract import OVERRIDES


@dataclass(frozen=True)
class Overrides:
    """What operators have changed, from one event loop."""

    _enqueuer: Enqueuer

    async def set(
        self,
        field: str,
        value: Any,
        *,
        kind: str | None = None,
        queue: str | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Change a number of a kind or a queue, for every worker, from their next claim on; a deploy keeps it.

        Raises InvalidPolicy for a field or value that cannot be, UnknownKind for a kind no worker has declared; then
        nothing is stored.
        """
        scope, name = _one_of(kind, queue)
        layer = _change(field, value)
        await self._refuse_misfits(scope, name, field, layer)
        change = to_json(layer)
        assert change is not None
        await self._enqueuer.stores.overrides.set(
            scope, name, field, change=change, actor=who(by), reason=why(reason)
        )
        self._enqueuer.wakeups.send(OVERRIDES)

    async def unset(
        self, field: str, *, kind: str | None = None, queue: str | None = None, by: str = "client"
    ) -> bool:
        """Let the code's own number count again; False when it was not overridden."""
        scope, name = _one_of(kind, queue)
        was_set = await self._enqueuer.stores.overrides.remove(scope, name, field, actor=who(by))
        self._enqueuer.wakeups.send(OVERRIDES)
        return was_set

    async def all(self) -> list[Override]:
        """What is overridden, by whom and why."""
        return await self._enqueuer.stores.overrides.all()

    async def _refuse_misfits(self, scope: OverrideScope, name: str, field: str, layer: PolicyChange) -> None:
        """Try the change on every kind that it is about, together with the other changes in force."""
        kinds = await self._enqueuer.stores.kinds.all()
        routes = await self._enqueuer.stores.insights.routes()
        pairs = {(record.queue, record.kind) for record in kinds} | routes
        _refuse_unknown(scope, name, pairs)
        others = [
            one
            for one in await self._enqueuer.stores.overrides.all()
            if (one.scope, one.name, one.field) != (scope, name, field)
        ]
        records = {record.kind: record for record in kinds}
        for queue, kind in sorted(pairs):
            if (kind if scope == "kind" else queue) == name and kind in records:
                below, above = layers_for(others, queue, kind)
                changed = (below, above, layer) if scope == "kind" else (below, layer, above)
                overridden(resolve(declared(records[kind])), *changed)


def declared(record: KindRecord) -> PolicyChange:
    """The numbers that a kind's workers have declared."""
    return from_json(msgspec.json.encode(record.policy).decode())


def _one_of(kind: str | None, queue: str | None) -> tuple[OverrideScope, str]:
    if (queue is None) == (kind is None):
        raise InvalidSettings("name either a queue or a kind")
    if kind is not None:
        return "kind", codec.check_name("kind", kind)
    return "queue", codec.check_name("queue", queue)


def _change(field: str, value: Any) -> PolicyChange:
    if field not in OVERRIDABLE:
        raise InvalidPolicy(field, value, needs=_instead(field))
    if field == "backoff" and isinstance(value, str | int | float):
        value = Backoff(duration(value, field="backoff"))
    return PolicyChange({field: value})


def _instead(field: str) -> str:
    if field in OF_A_WORKER:
        return "to be set where workers start: it is a number of a worker, not of a kind or queue"
    if field in ABOUT:
        return "to be set in code: it is read when a job is enqueued, so it would not reach jobs that wait"
    return f"to be one of {', '.join(OVERRIDABLE)}"


def _refuse_unknown(scope: OverrideScope, name: str, pairs: Collection[tuple[str, str]]) -> None:
    known = {kind if scope == "kind" else queue for queue, kind in pairs}
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "start a worker that knows it first"
    if scope == "kind":
        error = UnknownKind(name, known=known)
        error.add_note(f"No worker has declared this kind: {hint}")
        raise error
    raise InvalidSettings(f"no kind is sent to the queue {name!r}: {hint}")
