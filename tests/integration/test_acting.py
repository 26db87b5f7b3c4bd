"""Somebody who acts sees their tenant alone, does what their rights allow, and signs what they do."""

from __future__ import annotations

import inspect

import pytest

from backstay import Backstay, Hopeless
from backstay.client import acting as package
from backstay.client.acting import alerts, everybody, service, tenants, webhooks
from backstay.client.acting import jobs as acting_jobs
from backstay.errors import Forbidden, InvalidSchedule, InvalidSettings, JobNotFound, ScheduleNotFound
from backstay.records import AuditFilter, DeadLetterFilter, JobFilter

OTHER = "blue"


@pytest.fixture
def app(empty_app: Backstay) -> Backstay:
    @empty_app.job(kind="report")
    async def report() -> None:
        raise Hopeless("no")

    return empty_app


def rights(*names: str) -> frozenset[str]:
    return frozenset(names or ("*",))


async def test_what_belongs_to_another_tenant_is_not_there(app: Backstay) -> None:
    ann = app.acting_as("ann", tenant="red", rights=rights())
    own = await ann.jobs.enqueue("report")
    foreign = await app.acting_as("bob", tenant=OTHER, rights=rights()).jobs.enqueue("report")

    found = await ann.jobs.search()
    nothing = await ann.jobs.search(JobFilter(tenant=OTHER))

    assert [job.id for job in found.jobs] == [own.id]
    assert nothing.jobs == []
    assert (await ann.jobs.get(own.id)).created_by == "ann"
    assert [count.jobs for count in await ann.jobs.counts()] == [1]
    for ask in (ann.jobs.get, ann.jobs.attempts, ann.jobs.history, ann.jobs.steps, ann.jobs.runs):
        with pytest.raises(JobNotFound):
            await ask(foreign.id)
    for act in (ann.jobs.cancel, ann.jobs.hold, ann.dead_letters.retry, ann.dead_letters.resolve):
        with pytest.raises(JobNotFound):
            await act(foreign.id, reason="mine")
    with pytest.raises(JobNotFound):
        await ann.signals.send(foreign.id, "approval")
    assert (await app.jobs.get(foreign.id)).state == "available"


async def test_what_is_done_is_signed_and_can_be_read_in_the_audit_trail(app: Backstay) -> None:
    ann = app.acting_as("ann", tenant="green", rights=rights())
    job = await ann.jobs.enqueue("report")
    await ann.jobs.cancel(job.id, reason="not needed")
    await app.queues.pause("default", reason="because", by="root")

    own = await ann.audit.search()
    everything = await app.audit.search()
    by_root = await app.audit.search(AuditFilter(actor="root"))
    older = await app.audit.search(before=everything[0].id)

    assert [(line.actor, line.job_id, line.reason) for line in own] == [("ann", job.id, "not needed")]
    assert [line.actor for line in everything[:2]] == ["root", "ann"]
    assert {line.actor for line in by_root} == {"root"}
    assert by_root[0] == everything[0]
    assert older[0] == everything[1]
    await app.queues.resume("default")
    with pytest.raises(Forbidden):
        await ann.audit.search(AuditFilter(tenant=OTHER))


async def test_a_right_that_is_missing_is_named(app: Backstay) -> None:
    ann = app.acting_as("ann", tenant="red", rights={"jobs.read", "jobs.enqueue", "dead_letters.*"})
    job = await ann.jobs.enqueue("report")

    with pytest.raises(Forbidden, match=r"'ann' may not do this: it takes the right 'jobs\.cancel'"):
        await ann.jobs.cancel(job.id, reason="no")
    with pytest.raises(Forbidden, match=r"audit\.read"):
        await ann.audit.search()
    assert await ann.dead_letters.count(DeadLetterFilter()) == 0


async def test_what_concerns_everybody_takes_somebody_who_acts_for_all(app: Backstay) -> None:
    ann = app.acting_as("ann", tenant="red", rights=rights())
    root = app.acting_as("root", tenant="*", rights=rights())

    for refused in (
        ann.queues.pause("default", reason="no"),
        ann.queues.pause(tenant=OTHER, reason="no"),
        ann.limits.all(),
        ann.overrides.all(),
        ann.workers.all(),
        ann.doctor.check(),
        ann.quotas.set(3, reason="no"),
    ):
        with pytest.raises(Forbidden, match="for all tenants"):
            await refused
    await root.queues.pause("default", reason="yes")
    await ann.queues.pause(tenant="red", reason="ours")
    await root.queues.pause(tenant=OTHER, reason="theirs")
    assert {pause.tenant for pause in await ann.queues.pauses()} == {None, "red"}
    assert {pause.tenant for pause in await root.queues.pauses()} == {None, "red", OTHER}
    for tenant in ("red", OTHER):
        await root.queues.resume(tenant=tenant)
    await root.queues.resume("default")


async def test_who_acts_for_all_tenants_finds_a_schedule_whosesoever_it_is(app: Backstay) -> None:
    everything = rights()
    red, blue, root = (app.acting_as("ann", tenant=one, rights=everything) for one in ("red", "blue", "*"))
    await red.schedules.create("nightly", "report", every="1h")

    assert (await root.schedules.get("nightly")).tenant == "red"
    await root.schedules.pause("nightly", reason="holiday")
    assert (await red.schedules.get("nightly")).is_paused
    with pytest.raises(ScheduleNotFound):
        await root.schedules.get("weekly")
    await blue.schedules.create("nightly", "report", every="1h")
    with pytest.raises(InvalidSchedule, match="2 tenants have a schedule of this name: act for one of them"):
        await root.schedules.get("nightly")


def test_no_method_lets_the_caller_name_another_actor() -> None:
    nouns = [
        found
        for module in (acting_jobs, tenants, everybody, service, webhooks, alerts)
        for name, found in vars(module).items()
        if name.startswith("Acting")
    ]
    open_ones = [
        f"{noun.__name__}.{name}"
        for noun in nouns
        for name, method in vars(noun).items()
        if inspect.iscoroutinefunction(method) and "by" in inspect.signature(method).parameters
    ]

    assert len(nouns) == 18
    assert open_ones == []
    assert package.__doc__


def test_a_text_is_no_set_of_rights(app: Backstay) -> None:
    with pytest.raises(InvalidSettings, match="rights are a set of names"):
        app.acting_as("ann", tenant="red", rights="jobs.read")
