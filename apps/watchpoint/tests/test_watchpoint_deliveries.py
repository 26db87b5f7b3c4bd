"""What a notification's delivery learns of its message and its mail, whatever becomes of them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from sqlalchemy import update
from watchpoint_rows import delivery, notification, one, organization

from backstay_parts.mail import MailServer
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.services.notifications import requeue_deferred_notifications
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import tables


async def a_message(jobs: Jobs, owner: str) -> dict[str, Any]:
    """A delivery under way, and the message about it."""
    database = jobs.platform.database
    told = await notification(database, owner, payload={"subject": "Hail"})
    return {
        "kind": "deliver",
        "organization_id": owner,
        "dedupe_id": f"delivery:{told}",
        "delivery_id": await delivery(database, told, status="pending"),
        "notification_id": told,
        "payload": {"subject": "Hail"},
    }


async def becomes(jobs: Jobs, delivery_id: str, status: str) -> dict[str, Any]:
    """Wait until a delivery has a status."""
    async with asyncio.timeout(60):
        while True:
            row = await one(jobs.platform.database, tables.notification_deliveries, id=delivery_id)
            if row["status"] == status:
                return row
            await asyncio.sleep(0.02)


async def test_a_mail_that_must_wait_is_retrying_until_it_is_sent(posting: Jobs, mail: MailServer) -> None:
    """WPT-040: the mail server asks to come again later; the delivery says so, and then that it was sent."""
    body = await a_message(posting, await organization(posting.platform.database, id="acme"))
    mail.refuse("acme@example.org", 451, times=1)
    await posting.deliver_message.enqueue(body=body)

    async with posting.platform.app.working(concurrency=1, queues=["mail"]):
        waiting = await becomes(posting, body["delivery_id"], "retrying")
        sent = await becomes(posting, body["delivery_id"], "sent")

    assert (waiting["attempts"], waiting["sent_at"]) == (1, None)
    assert sent["attempts"] == 2
    assert len(mail.mails(to="acme@example.org")) == 1


async def test_a_mail_that_is_given_up_is_a_failed_delivery_until_somebody_retries_it(
    posting: Jobs, mail: MailServer
) -> None:
    """WPT-040: out of attempts it is failed; the dead letter that is retried makes it sent."""
    body = await a_message(posting, await organization(posting.platform.database, id="acme"))
    mail.refuse("acme@example.org", 451, times=1)
    job = await posting.deliver_message.options(max_attempts=1).enqueue(body=body)

    async with posting.platform.app.working(concurrency=1, queues=["mail"]):
        await becomes(posting, body["delivery_id"], "failed")
        await posting.platform.app.dead_letters.retry(job.id, by="ann", reason="the server is back")
        await becomes(posting, body["delivery_id"], "sent")

    assert len(mail.mails(to="acme@example.org")) == 1


async def test_a_message_that_is_cancelled_on_its_way_is_a_failed_delivery(
    posting: Jobs, now: datetime
) -> None:
    """WPT-040: requeued, and then its message is stopped by a person before it reaches the queue."""
    database = posting.platform.database
    owner = await organization(database)
    waiting = await delivery(database, await notification(database, owner), next_retry_at=now)
    await requeue_deferred_notifications(Work(database, now, posting.publisher))
    [job] = (await posting.platform.app.jobs.search()).jobs

    async with posting.platform.app.working(concurrency=1, queues=["mail"]):
        await posting.platform.app.jobs.cancel(job.id, by="ann", reason="not wanted")
        await becomes(posting, waiting, "failed")


async def test_a_delivery_that_nobody_is_left_for_is_skipped(
    posting: Jobs, mail: MailServer, now: datetime
) -> None:
    """WPT-040: the organisation was deleted meanwhile; a delivery that was sent before stays sent."""
    database = posting.platform.database
    owner = await organization(database, id="acme")
    sent, skipped = await a_message(posting, owner), await a_message(posting, owner)
    async with posting.platform.app.working(concurrency=1, queues=["mail"]):
        await posting.deliver_message.enqueue(body=sent)
        await becomes(posting, sent["delivery_id"], "sent")
        async with database.transaction() as transaction:
            await transaction.execute(update(tables.organizations).values(deleted_at=now))
        for body in (skipped, sent):
            job = await posting.deliver_message.enqueue(body=body)
            assert await job.result(timeout=60) == "nothing to send"

    await becomes(posting, skipped["delivery_id"], "skipped")
    await becomes(posting, sent["delivery_id"], "sent")
    assert len(mail.mails(to="acme@example.org")) == 1
