"""note_undelivered: writes into a notification's delivery that its message or its mail was given up."""

from __future__ import annotations

from typing import Any

from backstay import Handler
from backstay.records import JobEnded
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import mails

QUEUE = "mail"


def register(platform: Platform) -> Handler[..., Any]:
    """Register the reaction to the death of a message or a mail, whatever it died of."""

    @platform.app.job(kind="note_undelivered", queue=QUEUE)
    async def note_undelivered(ended: JobEnded) -> str:
        """Mark the delivery failed, unless it has come to an end meanwhile: somebody may have retried the job."""
        job = await platform.app.jobs.get(ended.job_id)
        delivery_id = mails.delivery_of(job.args["body"])
        if delivery_id is None:
            return "no notification's delivery"
        async with platform.database.transaction() as transaction:
            await mails.settle(transaction, delivery_id, "failed")
        return delivery_id

    registered: Handler[..., Any] = note_undelivered
    return registered
