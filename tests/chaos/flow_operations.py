"""Jobs that wait for other jobs, ready to be cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from backstay.model.flows import WAITS, Dependency, NewFlow
from backstay.model.job import Claim, JobId
from backstay.testing.contract.flows import add, child_of
from backstay.testing.contract.support import SECOND, Store
from backstay.testing.contract.whole_flows import complete_unseen
from chaos.operations import AUDITED, Operation

COPIES = [JobId(UUID(int=(7 << 76) | (0b10 << 62) | number)) for number in (1, 2)]


async def new_flow(store: Store) -> NewFlow:
    """A child that waits for its parent; nothing of it is stored."""
    parent, child = store.new_job(), store.new_job(kind="other", held_for=WAITS)
    return NewFlow(
        id=JobId(store.new_id()),
        tenant="",
        jobs=[parent, child],
        dependencies=[Dependency(job_id=child.id, parent_id=parent.id)],
        name="pair",
        labels={parent.id: "first"},
    )


async def stored_flow(store: Store) -> NewFlow:
    flow = await new_flow(store)
    await store.stores.flows.enqueue(flow)
    return flow


async def claimed_parent(store: Store) -> Claim:
    await stored_flow(store)
    return await store.claim_one()


async def ended_unseen(store: Store) -> None:
    """The parent has ended, and nobody has followed it."""
    await complete_unseen(store, (await claimed_parent(store)).id)


async def ended_flow(store: Store) -> NewFlow:
    """Both have ended: the parent in death, its child with it."""
    flow = await stored_flow(store)
    await store.fail_for_good(await store.claim_one())
    await store.stores.flows.cancel([job.id for job in flow.jobs], **AUDITED)
    return flow


async def flow_after_an_end(store: Store) -> NewFlow:
    """A flow that is not stored, whose first job waits for one that has completed."""
    claim = await store.claimed()
    await store.complete(claim)
    flow = await new_flow(store)
    late = Dependency(job_id=flow.jobs[0].id, parent_id=claim.id)
    first = flow.jobs[0]._replace(held_for=WAITS)
    return replace(flow, jobs=[first, flow.jobs[1]], dependencies=[late, *flow.dependencies])


async def waiting_child(store: Store) -> JobId:
    """A job that waits for one that runs."""
    return await child_of(store, (await store.claimed()).id)


async def late_child(store: Store) -> JobId:
    """A job that was given up while it waited for one that runs."""
    parent, child = await store.claimed(), store.new_job(held_for=WAITS, deadline_in=SECOND)
    await add(store, [child], [Dependency(job_id=child.id, parent_id=parent.id)])
    store.later(2 * SECOND)
    await store.stores.upkeep.miss_deadlines(limit=9)
    return child.id


async def complete_and_sweep(store: Store, claim: Claim) -> None:
    """What a worker and the leader do when the worker never heard whether its job was completed."""
    await store.complete(claim)
    await store.stores.flows.sweep(after=None, limit=9)


async def cancel_and_sweep(store: Store, flow: NewFlow) -> None:
    """What an operator and the leader do when the operator never heard whether the flow was cancelled."""
    await store.stores.flows.cancel([job.id for job in flow.jobs], **AUDITED)
    await store.stores.flows.sweep(after=None, limit=9)


def copies_of(flow: NewFlow) -> dict[JobId, JobId]:
    return {job.id: copy for job, copy in zip(flow.jobs, COPIES, strict=True)}


ANY: dict[str, Any] = {"tenant": None, "before": None, "limit": 9}

FLOWS = (
    Operation("flows.enqueue", new_flow, lambda s, flow: s.stores.flows.enqueue(flow)),
    Operation(
        "flows.enqueue",
        flow_after_an_end,
        lambda s, flow: s.stores.flows.enqueue(flow),
        has_sequel=True,
    ),
    Operation(
        "jobs.release",
        waiting_child,
        lambda s, job: s.stores.jobs.release(job, actor="ann"),
        is_repeated=False,
    ),
    Operation("dead_letters.retry", late_child, lambda s, job: s.retry(job), is_repeated=False),
    Operation(
        "claims.complete",
        claimed_parent,
        lambda s, claim: s.complete(claim),
        has_sequel=True,
        go_on=complete_and_sweep,
    ),
    Operation(
        "flows.sweep",
        ended_unseen,
        lambda s, _: s.stores.flows.sweep(after=None, limit=9),
        is_best_effort=True,
    ),
    Operation(
        "flows.cancel",
        stored_flow,
        lambda s, flow: s.stores.flows.cancel([job.id for job in flow.jobs], **AUDITED),
        has_sequel=True,
        go_on=cancel_and_sweep,
    ),
    Operation(
        "flows.run_again",
        ended_flow,
        lambda s, flow: s.stores.flows.run_again(flow.id, copies_of(flow), **AUDITED),
        is_repeated=False,
    ),
    Operation("flows.all", stored_flow, lambda s, _: s.stores.flows.all(**ANY)),
    Operation("flows.get", stored_flow, lambda s, flow: s.stores.flows.get(flow.id)),
    Operation("flows.jobs", stored_flow, lambda s, flow: s.stores.flows.jobs(flow.id)),
    Operation("flows.ties", stored_flow, lambda s, flow: s.stores.flows.ties(flow.id)),
    Operation("flows.of_job", stored_flow, lambda s, flow: s.stores.flows.of_job(flow.jobs[0].id)),
)
