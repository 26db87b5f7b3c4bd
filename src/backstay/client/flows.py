"""Flows: storing them, looking at how far they are, cancelling the rest, running a part again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

from backstay.client.arguments import job_id as to_id
from backstay.client.arguments import who, why
from backstay.client.enqueue.building import Builder
from backstay.client.enqueue.caller_transaction import SyncEnqueuing
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.enqueue.inheriting import inherited
from backstay.client.flow_building import Flow, FlowHandle
from backstay.client.flow_specs import built_from
from backstay.client.jobs import Jobs
from backstay.client.retry_until_known import until_certain
from backstay.client.sync_loop import SyncLoop
from backstay.context import Context, running_here
from backstay.errors import FlowNotFound, InvalidFlow, WrongState
from backstay.handlers.spec import HandlerSpec
from backstay.model.flows import MOST_JOBS, DependencyRecord, FlowJob, FlowRecord, NewFlow
from backstay.model.job import JobId, NewJob
from backstay.model.states import FINISHED, State
from backstay.options import JobOptions
from backstay.wakeups.contract import CANCEL, LATER, queue_hint

LARGEST_PAGE = 200


@dataclass(frozen=True)
class Flows:
    """The flows of one application, from one event loop."""

    _enqueuer: Enqueuer
    _jobs: Jobs

    async def all(
        self, *, tenant: str | None = None, before: UUID | str | None = None, limit: int = 50
    ) -> list[FlowRecord]:
        """Flows with their progress, newest first; `before` is the last id of the page before."""
        limit = max(1, min(limit, LARGEST_PAGE))
        mark = None if before is None else to_id(before)
        return await self._enqueuer.stores.flows.all(tenant=tenant, before=mark, limit=limit)

    async def get(self, flow_id: UUID | str) -> FlowRecord:
        """One flow and how many of its jobs are in which state; raises FlowNotFound."""
        found = await self._enqueuer.stores.flows.get(to_id(flow_id))
        if found is None:
            raise FlowNotFound(flow_id)
        return found

    async def members(self, flow_id: UUID | str) -> list[FlowJob]:
        """The jobs of a flow in the order they were added."""
        return await self._enqueuer.stores.flows.jobs(to_id(flow_id))

    async def dependencies(self, flow_id: UUID | str) -> list[DependencyRecord]:
        """What the jobs of a flow wait or waited for."""
        return await self._enqueuer.stores.flows.ties(to_id(flow_id))

    async def of_job(self, job_id: UUID | str) -> list[DependencyRecord]:
        """What one job waits or waited for, and which jobs wait or waited for it."""
        return await self._enqueuer.stores.flows.of_job(to_id(job_id))

    async def start(self, name: str, jobs: Sequence[Mapping[str, Any]], *, tenant: str = "") -> FlowHandle:
        """Store a flow that is described by plain values, as a file or another program has it.

        Each job has a `name`, a `kind`, `args`, and `after`, the names of jobs it waits for or objects with `job`,
        `wait_for`, `on_failure`, `place` and `when`. The order does not matter: a circle is refused by its names.
        """
        keeper = FlowKeeper(_Here(self), self._enqueuer.builder, None)
        flow = Flow(name, keeper, tenant=tenant)
        kinds = {job["kind"] for job in jobs if isinstance(job.get("kind"), str)}
        specs = {kind: await self._enqueuer.spec_of(kind) for kind in sorted(kinds)}
        built_from(flow, jobs, specs)
        return await flow.enqueue(tx=False)

    async def cancel(self, flow_id: UUID | str, *, by: str, reason: str) -> int:
        """Cancel every job of a flow that has not started and ask those that run to stop; returns how many.

        The flow's callback is left alone: it runs when the others have ended.
        """
        flow, actor, because = await self.get(flow_id), who(by), why(reason)
        members = await self.members(flow_id)
        left = [one.id for one in members if one.state not in FINISHED and one.id != flow.callback_id]
        reached = await self._enqueuer.stores.flows.cancel(left, actor=actor, reason=because)
        self._enqueuer.wakeups.send(CANCEL)
        return len(reached)

    async def retry_from(self, job_id: UUID | str, *, by: str, reason: str) -> list[JobId]:
        """Run a job and everything that depends on it again; returns the ids of the jobs that will run.

        A dead job is retried itself, and what waits for it goes on afterwards. Jobs that have ended otherwise are
        stored anew, tied to one another as before, and take results from parents that are not run again. Raises
        WrongState while one of them has not ended.
        """
        root, actor, because = to_id(job_id), who(by), why(reason)
        job = await self._jobs.get(root)
        if job.state is State.DEAD:
            await self._enqueuer.stores.dead_letters.retry(
                root, actor=actor, reason=because, delay=timedelta(0), version=None
            )
            self._enqueuer.wakeups.send(queue_hint(job.queue), LATER)
            return [root]
        concerned = await self._downstream(root)
        for one in concerned:
            state = (await self._jobs.get(one)).state
            if state not in FINISHED:
                raise WrongState(one, asked="run again", state=state, needs=FINISHED)
        copies = {one: JobId(self._enqueuer.env.new_id()) for one in concerned}
        await self._enqueuer.stores.flows.run_again(root, copies, actor=actor, reason=because)
        return list(copies.values())

    async def _store(self, flow: Flow, *, tx: object = None) -> FlowHandle:
        """Store a flow outside of any transaction, or in the one given or found."""
        if tx is None and (looking := self._enqueuer.joiner.ambient()) is not None:
            tx = await looking
        new = flow._built()
        if tx is None or tx is False:
            found = await self._store_alone(flow, new)
        else:
            ready = await self._enqueuer.to_join([node.spec for node in flow.nodes], new.jobs)
            found = await self._enqueuer.joiner.join_flow(
                tx, new, routes=ready.routes, announce=ready.announce
            )
        return self._handle(flow, found)

    async def _store_alone(self, flow: Flow, new: NewFlow) -> Mapping[JobId, JobId]:
        """Store a flow in a transaction of its own."""
        enqueuer = self._enqueuer
        await enqueuer.add_routes([(node.job.queue, node.spec) for node in flow.nodes])
        await enqueuer.promoted._require([node.spec for node in flow.nodes if node.spec.promoted])
        found = await until_certain(
            lambda: enqueuer.stores.flows.enqueue(new), what="enqueue", ids=[new.id], env=enqueuer.env
        )
        enqueuer.announce(new.jobs)
        return found

    def _handle(self, flow: Flow, found: Mapping[JobId, JobId]) -> FlowHandle:
        """What the caller gets for a flow that was stored."""
        handles = tuple(
            self._enqueuer.handle(node.spec, found.get(node.id, node.id), node.id not in found)
            for node in flow.nodes
        )
        handle = FlowHandle(flow.id, flow.name, handles, self._enqueuer.env.monotonic)
        flow._was_stored(handle)
        return handle

    async def _downstream(self, root: JobId) -> list[JobId]:
        """The job and all that depend on it, directly or through others."""
        found: dict[JobId, None] = {root: None}
        pending = [root]
        while pending:
            here = pending.pop()
            for one in await self._enqueuer.stores.flows.of_job(here):
                child = one.dependency.job_id
                if child != here and child not in found:
                    found[child] = None
                    pending.append(child)
            if len(found) > MOST_JOBS:
                raise InvalidFlow(f"more than {MOST_JOBS:,} jobs depend on {root}: run a smaller part again")
        return sorted(found)


class App(Protocol):
    """Where the flows and jobs of the running loop are found."""

    @property
    def url(self) -> str: ...

    @property
    def flows(self) -> Flows: ...

    @property
    def _enqueuer(self) -> Enqueuer: ...


@dataclass(frozen=True, slots=True)
class _Here:
    """The nouns of one loop, where no application is at hand."""

    flows: Flows

    @property
    def _enqueuer(self) -> Enqueuer:
        return self.flows._enqueuer

    @property
    def url(self) -> str:
        return self._enqueuer.home


@dataclass(frozen=True, slots=True)
class FlowKeeper:
    """What a flow needs of its application, from whichever loop or thread it is used."""

    app: App
    builder: Builder
    loop: SyncLoop | None

    def new_id(self) -> UUID:
        """An id for the flow."""
        return self.builder.env.new_id()

    def build(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> NewJob:
        """One of its jobs."""
        return self.builder.build(spec, args_text, inherited(options, self.app.url))

    async def store(self, flow: Flow, *, tx: object) -> FlowHandle:
        """Store it from a coroutine."""
        return await self.app.flows._store(flow, tx=tx)

    def store_sync(self, flow: Flow, *, tx: object) -> FlowHandle:
        """Store it from code that blocks, in the caller's own thread if that has a transaction."""
        assert self.loop is not None
        enqueuing = SyncEnqueuing(self.app, self.loop)
        joined = enqueuing.transaction(tx, "flow.enqueue_sync")
        if joined is None:
            return self.loop.run(lambda: self.app.flows._store(flow, tx=False), name="flow.enqueue_sync")
        new = flow._built()

        async def handled() -> FlowHandle:
            return self.app.flows._handle(flow, found)

        found = enqueuing.join_flow(joined, new, [node.spec for node in flow.nodes])
        return self.loop.run(handled, name="flow.enqueue_sync")


def make_flow(
    app: App,
    builder: Builder,
    loop: SyncLoop,
    name: str,
    *,
    tenant: str | None = None,
    within: Context | None = None,
) -> Flow:
    """An empty flow of an application; `within` a running job its jobs belong to that job's flow and tenant."""
    keeper = FlowKeeper(app, builder, loop)
    if within is not None:
        return Flow(None, keeper, tenant=within.tenant, within=within)
    if not name.strip():
        raise InvalidFlow("a flow needs a name that tells people what it is about")
    parent = running_here(app.url) if tenant is None else None
    return Flow(name, keeper, tenant=tenant or (parent.tenant if parent else ""))
