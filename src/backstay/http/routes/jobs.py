"""/jobs: storing, finding, awaiting and changing jobs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Header, Query, Request, Response

from backstay.app import Backstay
from backstay.http.access import Person
from backstay.http.caller import AsCaller, Caller, need_payloads, service_of
from backstay.http.router import IDEMPOTENCY_KEY, operations
from backstay.http.values.common import Done, Listed, Moment, Paged, WithReason
from backstay.http.values.jobs import (
    AttemptShown,
    Cancelled,
    Clone,
    JobLine,
    JobResult,
    JobShown,
    NewJob,
    NewJobs,
    NewPriority,
    NewSignal,
    QueueCountShown,
    Rescheduled,
    SentSignal,
    SignalShown,
    StepShown,
    StoredJob,
)
from backstay.http.values.operators import AuditLine
from backstay.kit.problems import Problem
from backstay.model.job import Job, JobId
from backstay.model.records import JobFilter
from backstay.model.rights import PAYLOADS
from backstay.model.states import State

jobs = operations("jobs")

LONGEST_WAIT = 30.0

WaitQuery = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Wait this many seconds for its end.", examples=[10])
]
KeyHeader = Annotated[
    str | None, Header(alias="Idempotency-Key", description=IDEMPOTENCY_KEY, max_length=255)
]


@jobs.post("", status_code=201, summary="Store a job")
async def create(
    request: Request, response: Response, caller: Caller, client: AsCaller, job: NewJob, key: KeyHeader = None
) -> StoredJob:
    """Store a job by the name of its kind; when this answers, the job is committed.

    With an Idempotency-Key the same job is stored once, however often it is sent: then the answer is 200.
    """
    _check_tenant(caller, job)
    handle = await client.jobs.enqueue(job.kind, job.args, job.options(key))
    response.status_code = 201 if handle.is_new else 200
    response.headers["Location"] = str(request.url_for("get_job", job_id=str(handle.id)).path)
    return StoredJob(id=handle.id, kind=handle.kind, is_new=handle.is_new)


@jobs.post("/bulk", status_code=201, response_model=Listed[StoredJob], summary="Store many jobs, all or none")
async def create_many(
    request: Request, caller: Caller, client: AsCaller, batch: NewJobs, key: KeyHeader = None
) -> Response:
    """Store up to 1,000 jobs in one transaction; if one is refused, none is stored."""
    for job in batch.jobs:
        _check_tenant(caller, job)

    async def act() -> Listed[StoredJob]:
        handles = await client.jobs.enqueue_many([(job.kind, job.args, job.options()) for job in batch.jobs])
        stored = [StoredJob(id=one.id, kind=one.kind, is_new=one.is_new) for one in handles]
        return Listed[StoredJob](items=stored)

    return await service_of(request).requests.run(request, caller, act)


@jobs.get("", summary="Find jobs")
async def search(
    request: Request,
    client: AsCaller,
    state: Annotated[
        list[Annotated[str, Query(max_length=128)]] | None,
        Query(
            description="States, or the application's words for them.", max_length=20, examples=["running"]
        ),
    ] = None,
    kind: Annotated[str | None, Query(max_length=128)] = None,
    queue: Annotated[str | None, Query(max_length=128)] = None,
    tenant: Annotated[str | None, Query(max_length=255)] = None,
    worker: Annotated[str | None, Query(max_length=255)] = None,
    tag: Annotated[str | None, Query(max_length=255)] = None,
    correlation_id: Annotated[str | None, Query(max_length=255)] = None,
    created_by: Annotated[str | None, Query(max_length=255)] = None,
    error_class: Annotated[str | None, Query(max_length=128)] = None,
    parent_id: UUID | None = None,
    created_from: Moment | None = None,
    created_to: Moment | None = None,
    cursor: Annotated[str | None, Query(max_length=2048)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Paged[JobLine]:
    """Find jobs, newest first; filters that are left out let everything through."""
    filters = JobFilter(
        state=[_state(word) for word in state] if state else None,
        kind=kind,
        queue=queue,
        tenant=tenant,
        worker=worker,
        tag=tag,
        correlation_id=correlation_id,
        created_by=created_by,
        error_class=error_class,
        parent_id=None if parent_id is None else JobId(parent_id),
        created_from=created_from,
        created_to=created_to,
    )
    page, app = await client.jobs.search(filters, cursor=cursor, limit=limit), service_of(request).app
    return Paged[JobLine](items=[line(app, job) for job in page.jobs], cursor=page.cursor)


@jobs.get("/counts", summary="Count jobs by queue, kind and state")
async def counts(client: AsCaller) -> Listed[QueueCountShown]:
    """Count the jobs of the tenant, or of all tenants, by queue, kind and state."""
    found = await client.jobs.counts()
    return Listed[QueueCountShown](items=[QueueCountShown.model_validate(one) for one in found])


@jobs.get("/{job_id}", summary="Look at a job")
async def get_job(request: Request, caller: Caller, client: AsCaller, job_id: UUID) -> JobShown:
    """Show a job whole; arguments and result need the right payloads.read."""
    return shown(service_of(request).app, caller, await client.jobs.get(job_id))


@jobs.get("/{job_id}/wait", summary="Wait for a job's end")
async def wait(
    request: Request, caller: Caller, client: AsCaller, job_id: UUID, timeout: WaitQuery = 10.0
) -> JobShown:
    """Answer when the job has ended, or with the job as it is after the timeout."""
    return shown(service_of(request).app, caller, await client.jobs.wait(job_id, timeout=timeout))


@jobs.get("/{job_id}/result", summary="Get a job's result")
async def result(caller: Caller, client: AsCaller, job_id: UUID, timeout: WaitQuery = 0.0) -> JobResult:
    """Give the result of a completed job; 409 tells that it has not ended, or ended otherwise."""
    need_payloads(caller)
    job = await client.jobs.wait(job_id, timeout=timeout) if timeout else await client.jobs.get(job_id)
    if job.state is not State.COMPLETED:
        code = "job_not_finished" if not job.is_finished else f"job_{job.state.value}"
        raise Problem(409, code, f"The job is {job.state.value} and has no result.", state=job.state.value)
    return JobResult(id=job.id, result=job.result)


@jobs.get("/{job_id}/runs", summary="List a job's runs")
async def runs(client: AsCaller, job_id: UUID) -> Listed[AttemptShown]:
    """List every run of a job in order, the one under way included."""
    found = await client.jobs.runs(job_id)
    return Listed[AttemptShown](items=[AttemptShown.model_validate(one) for one in found])


@jobs.get("/{job_id}/steps", summary="List a job's steps")
async def steps(caller: Caller, client: AsCaller, job_id: UUID) -> Listed[StepShown]:
    """List the steps that are done and will not be repeated; their results need the right payloads.read."""
    found = [StepShown.model_validate(one) for one in await client.jobs.steps(job_id)]
    if not caller.may(PAYLOADS):
        found = [one.model_copy(update={"result": None}) for one in found]
    return Listed[StepShown](items=found)


@jobs.get("/{job_id}/history", summary="See what was done to a job")
async def history(client: AsCaller, job_id: UUID) -> Listed[AuditLine]:
    """List what was done to a job and by whom, in order."""
    found = await client.jobs.history(job_id)
    return Listed[AuditLine](items=[AuditLine.model_validate(one) for one in found])


@jobs.get("/{job_id}/why", summary="Ask why a job does not run")
async def why(client: AsCaller, job_id: UUID) -> Listed[str]:
    """Say in sentences why a job does not run, or what it does; the decisive one first."""
    return Listed[str](items=await client.doctor.why(job_id))


@jobs.post("/{job_id}/cancel", summary="Cancel a job")
async def cancel(client: AsCaller, job_id: UUID, body: WithReason) -> Cancelled:
    """Cancel a waiting job, or ask for a running one to stop."""
    return Cancelled(state=await client.jobs.cancel(job_id, reason=body.reason))


@jobs.post("/{job_id}/hold", summary="Put a job aside")
async def hold(client: AsCaller, job_id: UUID, body: WithReason) -> Done:
    """Put a waiting job aside until it is released."""
    await client.jobs.hold(job_id, reason=body.reason)
    return Done(done=True)


@jobs.post("/{job_id}/release", summary="Let a held job go on")
async def release(client: AsCaller, job_id: UUID) -> Done:
    """Let a held job go on."""
    await client.jobs.release(job_id)
    return Done(done=True)


@jobs.post("/{job_id}/reschedule", summary="Move a job to another time")
async def reschedule(client: AsCaller, job_id: UUID, body: Rescheduled) -> Done:
    """Move a waiting job to another time."""
    await client.jobs.reschedule(job_id, body.run_at)
    return Done(done=True)


@jobs.post("/{job_id}/run-now", summary="Run a job now")
async def run_now(client: AsCaller, job_id: UUID) -> Done:
    """Let a job that is scheduled for later, or waits for another attempt, run as soon as a worker is free."""
    await client.jobs.run_now(job_id)
    return Done(done=True)


@jobs.post("/{job_id}/priority", summary="Change a job's priority")
async def set_priority(client: AsCaller, job_id: UUID, body: NewPriority) -> Done:
    """Give a waiting job another priority, as if it had been stored with it."""
    await client.jobs.set_priority(job_id, body.priority, reason=body.reason)
    return Done(done=True)


@jobs.post(
    "/{job_id}/clone", status_code=201, response_model=StoredJob, summary="Run a job again as a new one"
)
async def clone(
    request: Request, caller: Caller, client: AsCaller, job_id: UUID, body: Clone, key: KeyHeader = None
) -> Response:
    """Store a new job like this one, whatever has become of it; its metadata names this one as `cloned_from`."""

    async def act() -> StoredJob:
        new = await client.jobs.clone(job_id, args=body.args, delay=body.delay, reason=body.reason)
        return StoredJob(id=new, kind=(await client.jobs.get(new)).kind, is_new=True)

    return await service_of(request).requests.run(request, caller, act)


@jobs.post("/{job_id}/signals", status_code=201, summary="Send a job a signal")
async def send_signal(client: AsCaller, job_id: UUID, signal: NewSignal, key: KeyHeader = None) -> SentSignal:
    """Send a job what its handler waits for, or will wait for."""
    is_new = await client.signals.send(job_id, signal.name, signal.payload, key=signal.key or key)
    return SentSignal(is_new=is_new)


@jobs.get("/{job_id}/signals", summary="List a job's signals")
async def signals(caller: Caller, client: AsCaller, job_id: UUID) -> Listed[SignalShown]:
    """List what a job has received, in order; payloads need the right payloads.read."""
    found = [SignalShown.model_validate(one) for one in await client.signals.of_job(job_id)]
    if not caller.may(PAYLOADS):
        found = [one.model_copy(update={"payload": None}) for one in found]
    return Listed[SignalShown](items=found)


def line(app: Backstay, job: Job) -> JobLine:
    """A job as lists show it."""
    word = app.profile.word_for(job.state, job.attempt, job.reason)
    return JobLine.model_validate(job).model_copy(update={"status": word})


def shown(app: Backstay, caller: Person, job: Job) -> JobShown:
    """A job whole, as far as the caller may see it."""
    word = app.profile.word_for(job.state, job.attempt, job.reason)
    whole = JobShown.model_validate(job)
    if caller.may(PAYLOADS):
        return whole.model_copy(update={"status": word, "payloads_shown": True})
    return whole.model_copy(update={"status": word, "args": None, "result": None})


def _state(word: str) -> State | str:
    return State(word) if word in set(State) else word


def _check_tenant(caller: Person, job: NewJob) -> None:
    if job.tenant is not None and job.tenant != caller.tenant and caller.tenant != "*":
        raise Problem(403, "not_allowed", "Jobs for this tenant are not yours to store.", pointer="/tenant")
