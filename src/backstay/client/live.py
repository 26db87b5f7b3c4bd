"""Live status: the state of a job, a flow, a queue or of everything, and every change from then on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.flows import Flows
from backstay.client.jobs import Jobs
from backstay.client.live_feed import READ_AT_ONCE, Feed, Notice, Subscription
from backstay.model.job import Job
from backstay.model.live import Change, LiveEvent, Scope, Topic, described, topic_of

State = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Live:
    """What happens to the jobs of one application, from one event loop."""

    _enqueuer: Enqueuer
    _jobs: Jobs
    _flows: Flows
    _feed: Feed

    async def follow(
        self, topic: str, *, after: int | None = None, tenant: str | None = None
    ) -> AsyncGenerator[LiveEvent]:
        """Yield the state first, then every change as it commits, in order, until the iterator is closed.

        A topic is `all`, `tenant:<name>`, `queue:<name>`, `kind:<name>`, `flow:<id>` or `job:<id>`. `after` is the
        position of the last event that was seen before a connection was lost: the stream goes on there, or sends
        `reset` with the state where changes are no longer kept. `tenant` leaves out the jobs of others. Raises
        JobNotFound and FlowNotFound for what is not there, and InvalidSettings for a topic that has another form.
        """
        about = topic_of(topic)
        subscription = await self._feed.subscribe(str(about))
        try:
            async for event in self._events(
                subscription, lambda: self._state_of(about, tenant=tenant), after
            ):
                if not (isinstance(event.data, Change) and tenant not in (None, event.data.tenant)):
                    yield _with_plain_data(event)
        finally:
            self._feed.leave(subscription)

    async def _state_of(self, topic: Topic, *, tenant: str | None = None) -> dict[str, Any]:
        """What a stream begins with: a job, a flow with its jobs, or how many jobs are in which state."""
        match topic.scope:
            case Scope.JOB:
                return job_state(await self._jobs.get(topic.name))
            case Scope.FLOW:
                return await self._flow_state(topic.name)
            case Scope.TENANT:
                return await self._counts(topic, topic.name)
            case _:
                return await self._counts(topic, tenant)

    async def _flow_state(self, flow_id: str) -> dict[str, Any]:
        flow = await self._flows.get(flow_id)
        members = await self._flows.members(flow.id)
        return {
            "flow_id": str(flow.id),
            "name": flow.name,
            "total": flow.total,
            "ended": flow.ended,
            "jobs": [
                {"job_id": str(one.id), "kind": one.kind, "label": one.label, "state": one.state.value}
                for one in members
            ],
        }

    async def _counts(self, topic: Topic, tenant: str | None) -> dict[str, Any]:
        found: dict[str, int] = {}
        for count in await self._jobs.counts(tenant=tenant):
            if (topic.scope is Scope.QUEUE and count.queue != topic.name) or (
                topic.scope is Scope.KIND and count.kind != topic.name
            ):
                continue
            found[count.state.value] = found.get(count.state.value, 0) + count.jobs
        return {"topic": str(topic), "jobs": found}

    async def _events(
        self, subscription: Subscription, state: State, after: int | None
    ) -> AsyncGenerator[LiveEvent]:
        position, seen = await self._last_position(), None
        if after is not None and await self._goes_on(subscription.topic, after):
            position = after
            async for change in self._kept(subscription.topic, after):
                position = change.position
                yield LiveEvent("change", position, change)
        else:
            seen = await state()
            yield LiveEvent("state" if after is None else "reset", position, seen)
        while True:
            heard = await subscription.next()
            if isinstance(heard, Change):
                # What was read before the state, or from what is kept, is in there.
                if heard.position > position:
                    position = heard.position
                    yield LiveEvent("change", position, heard)
                continue
            if heard is Notice.RESET:
                position = await self._last_position()
            now = await state()
            if heard is Notice.RESET or now != seen:
                seen = now
                yield LiveEvent("reset" if heard is Notice.RESET else "state", position, now)

    async def _last_position(self) -> int:
        """The position of the newest change that is visible: the state read next includes it."""
        outbox = self._enqueuer.stores.service.outbox
        look = await outbox.look()
        while look.has_new:
            await outbox.number()
            look = await outbox.look()
        return look.last

    async def _goes_on(self, topic: str, after: int) -> bool:
        """True if somebody has listened to the topic ever since, and every change is still kept."""
        outbox = self._enqueuer.stores.service.outbox
        since = await outbox.since(topic)
        return since is not None and since <= after and (await outbox.look()).has_all_after(after)

    async def _kept(self, topic: str, after: int) -> AsyncGenerator[Change]:
        while True:
            found = await self._enqueuer.stores.service.outbox.after(after, limit=READ_AT_ONCE)
            for change in found:
                if topic in change.topics:
                    yield change
            if len(found) < READ_AT_ONCE:
                return
            after = found[-1].position


def job_state(job: Job) -> dict[str, Any]:
    """A job as a stream tells it: no arguments and no result."""
    told: Mapping[str, Any] = {
        "job_id": str(job.id),
        "kind": job.kind,
        "queue": job.queue,
        "tenant": job.tenant,
        "state": job.state.value,
        "reason": job.reason,
        "attempt": job.attempt,
        "progress": _progress(job),
        "updated_at": job.updated_at.isoformat(),
    }
    return {name: value for name, value in told.items() if value is not None}


def _progress(job: Job) -> dict[str, Any] | None:
    told = job.progress
    return None if told is None else {"current": told.current, "total": told.total, "message": told.message}


def _with_plain_data(event: LiveEvent) -> LiveEvent:
    if isinstance(event.data, Change):
        return LiveEvent(event.type, event.position, described(event.data))
    return event
