"""What jobs that a handler enqueues have from the job that it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from backstay import Backstay, BatchItem, Context
from backstay.errors import JobNotFound
from backstay.testing import Harness, harness

app = Backstay("sqlite:////nowhere/backstay.db")
elsewhere = Backstay("sqlite:////elsewhere/backstay.db")


@app.job
async def child(n: int) -> int:
    return n


@elsewhere.job
async def far(n: int) -> None: ...


@app.job
async def parent(ctx: Context, how: str) -> None:
    match how:
        case "one":
            await child.enqueue(1)
        case "many":
            await child.enqueue_many([{"n": 1}, {"n": 2}])
        case "args":
            await app.jobs.enqueue_many([child.args(1)])
        case "transaction":
            async with ctx.transaction():
                await child.enqueue(1)
        case "explicit":
            await child.options(tenant="", correlation_id="mine", parent=ctx.job_id).enqueue(1)
        case "child of a child":
            await parent.enqueue("one")
        case "keyed":
            await child.options(key="once").enqueue(1)
        case "by name":
            await app.jobs.enqueue_by_name("child", {"n": 1})
        case "flow":
            flow = app.flow("two")
            flow.chain(child.args(1), child.args(2))
            await flow.enqueue()
        case "flow of another tenant":
            flow = app.flow("two", tenant="umbrella")
            flow.add_call(child.args(1))
            flow.add(child, 2)
            await flow.enqueue()
        case "elsewhere":
            await far.enqueue(1)


@app.job
def parent_in_thread(ctx: Context, how: str) -> None:
    match how:
        case "one":
            child.enqueue_sync(1)
        case "by name":
            app.sync.jobs.enqueue_by_name("child", {"n": 1})
        case "many":
            app.sync.jobs.enqueue_many([child.args(1), child.args(2)])
        case "flow":
            flow = app.flow("one")
            flow.add(child, 1)
            flow.enqueue_sync()
        case "transaction":
            with ctx.transaction():
                child.enqueue_sync(1)


@app.batch_job(size=10)
async def together(items: list[BatchItem[int]]) -> None:
    for item in items:
        await item.enqueue(child, item.value)
        item.complete()


@pytest.fixture(params=["sqlite", "postgresql"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    url = (
        f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("emptied_url")
    )
    with harness(app, url) as opened:
        yield opened


@pytest.fixture
def there(tmp_path: Path) -> Any:
    with harness(elsewhere, f"sqlite:///{tmp_path}/elsewhere.db") as opened:
        yield opened


@pytest.mark.parametrize("how", ["one", "many", "args", "transaction", "by name", "flow"])
async def test_a_child_has_tenant_correlation_and_parent_of_the_job_that_enqueues_it(
    backstay: Harness, how: str
) -> None:
    root = await parent.options(tenant="acme").enqueue(how)
    await backstay.drain()

    children = await backstay.enqueued(child)
    assert children
    for found in children:
        assert (found.tenant, found.correlation_id, found.parent_id) == ("acme", str(root.id), root.id)


@pytest.mark.parametrize("how", ["one", "transaction", "by name", "many", "flow"])
async def test_a_child_of_a_handler_in_a_thread_has_them_too(backstay: Harness, how: str) -> None:
    root = await parent_in_thread.options(tenant="acme", correlation_id="order 7").enqueue(how)
    await backstay.drain()

    children = await backstay.enqueued(child)
    assert children
    for found in children:
        assert (found.tenant, found.correlation_id, found.parent_id) == ("acme", "order 7", root.id)


async def test_the_tenant_of_a_flow_wins_over_that_of_the_job_that_stores_it(backstay: Harness) -> None:
    root = await parent.options(tenant="acme").enqueue("flow of another tenant")
    await backstay.drain()

    children = await backstay.enqueued(child)
    assert [(found.tenant, found.parent_id) for found in children] == [("umbrella", root.id)] * 2


async def test_a_job_of_another_database_has_nothing_of_the_job_that_stores_it(
    backstay: Harness, there: Harness
) -> None:
    await parent.options(tenant="acme").enqueue("elsewhere")
    await backstay.drain()

    [found] = await there.enqueued(far)
    assert (found.tenant, found.correlation_id, found.parent_id) == ("", None, None)


async def test_a_grandchild_has_the_roots_id_for_its_correlation(backstay: Harness) -> None:
    root = await parent.enqueue("child of a child")
    await backstay.drain()

    [found] = await backstay.enqueued(child)
    assert (found.correlation_id, found.parent_id != root.id) == (str(root.id), True)


async def test_what_the_options_say_wins_an_empty_tenant_included(backstay: Harness) -> None:
    await parent.options(tenant="acme").enqueue("explicit")
    await backstay.drain()

    [found] = await backstay.enqueued(child)
    assert (found.tenant, found.correlation_id) == ("", "mine")


async def test_two_jobs_may_ask_for_the_same_child_by_its_key(backstay: Harness) -> None:
    first = await parent.enqueue("keyed")
    await parent.enqueue("keyed")
    drained = await backstay.drain()

    [found] = await backstay.enqueued(child)
    assert (drained.completed, found.parent_id) == (3, first.id)


async def test_a_batch_items_child_has_them_from_its_item(backstay: Harness) -> None:
    roots = {tenant: (await together.options(tenant=tenant).enqueue(1)).id for tenant in ("acme", "umbrella")}
    await backstay.drain()

    children = await backstay.enqueued(child)
    assert {found.tenant: found.parent_id for found in children} == roots


async def test_a_job_enqueued_by_nobody_has_no_parent(backstay: Harness) -> None:
    await child.enqueue(1)

    [found] = await backstay.enqueued(child)
    assert (found.parent_id, found.correlation_id, found.tenant) == (None, None, "")


async def test_a_handle_is_made_from_an_id(backstay: Harness) -> None:
    stored = await child.enqueue(7)
    await backstay.drain()

    assert await child.handle(str(stored.id)).result(timeout=5) == 7
    with pytest.raises(JobNotFound):
        await child.handle(uuid4()).get()
    with pytest.raises(JobNotFound):
        child.handle("no id")
