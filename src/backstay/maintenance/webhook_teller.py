"""Stores a delivery for each webhook that is to hear of an end; the outbox has them, however they came about."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.model.job import Job, JobId, NewJob
from backstay.model.live import Change
from backstay.model.webhooks import (
    EVENTS,
    QUEUE,
    Webhook,
    body_of,
    delivery_of,
    event_of,
    hears_of,
    message_id,
)
from backstay.runtime.env import Env
from backstay.stores.contract import Stores
from backstay.wakeups.contract import Wakeups, queue_hint

LOOK_EVERY = 0.5
AGAIN_AFTER = 2.0
BATCH = 500
BY = "webhooks"


class WebhookTeller:
    """Works while there are webhooks; the leader's, so one at a time.

    A leader that is replaced on the way tells nobody twice: a delivery is stored under the id of its message.
    """

    def __init__(self, stores: Stores, wakeups: Wakeups, *, emit: Emit, env: Env) -> None:
        self._stores, self._wakeups, self._emit, self._env = stores, wakeups, emit, env
        self._working: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Work until told to stop."""
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())

    def stop(self) -> None:
        """Leave the rest to another leader."""
        if self._working is not None:
            self._working.cancel()
            self._working = None

    async def _work(self) -> None:
        while True:
            pause = LOOK_EVERY
            try:
                while await self.step():
                    pass
            except StoreError as error:
                self._emit("store.failed", doing="tell webhooks", error=str(error))
                pause = AGAIN_AFTER
            await self._env.sleep(pause)

    async def step(self) -> bool:
        """Tell of the next changes; False where there are none."""
        outbox = self._stores.service.outbox
        look = await outbox.look()
        if look.has_new:
            await outbox.number()
        elif look.told == look.last:
            return False
        changes = await outbox.untold(limit=BATCH)
        if not changes:
            await outbox.note_told(look.last)
            return False
        await self._tell([change for change in changes if event_of(change) in EVENTS])
        await outbox.note_told(changes[-1].position)
        return True

    async def _tell(self, ends: Sequence[Change]) -> None:
        webhooks = {
            tenant: await self._stores.service.webhooks.listening(tenant)
            for tenant in sorted({end.tenant for end in ends})
        }
        deliveries: list[NewJob] = []
        for end in ends:
            hearing = [webhook for webhook in webhooks[end.tenant] if hears_of(webhook, end)]
            job = await self._stores.jobs.get(JobId(end.job_id)) if hearing else None
            deliveries += [self._delivery(webhook, end, job) for webhook in hearing]
        if deliveries:
            await self._stores.service.webhooks.deliver(deliveries)
            self._wakeups.send(queue_hint(QUEUE))

    def _delivery(self, webhook: Webhook, end: Change, job: Job | None) -> NewJob:
        new_id = JobId(self._env.new_id())
        return delivery_of(webhook, new_id, message_id(webhook.id, end), body_of(end, job), by=BY)
