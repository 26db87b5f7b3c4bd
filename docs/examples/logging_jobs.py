"""Logging of one's own beside Backstay's, and a dead job on its way to Sentry."""

import asyncio
import logging
from typing import Any

from backstay import Backstay, Context
from backstay.errors import JobDead

app = Backstay("sqlite://:memory:")
log = logging.getLogger("shop")
sent: list[dict[str, Any]] = []


@app.job(max_attempts=1)
async def charge(ctx: Context, order: int) -> None:
    log.info("charging order %s", order)
    ctx.log.info("asked the bank", order=order)
    raise ValueError("the card has expired")


def before_send(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any]:
    """Hand it to `sentry_sdk.init(dsn=…, before_send=before_send)`: one issue for each kind and sort of error."""
    record = hint.get("log_record")
    if getattr(record, "event_name", "") in ("job.dead", "job.failed"):
        error = record.error_details
        event["exception"] = {"values": [{"type": error["name"], "value": error["message"]}]}
        event["fingerprint"] = ["backstay", record.kind, error["name"]]
        event.setdefault("tags", {}).update(job_kind=record.kind, job_id=record.job_id)
    return event


class Tracker(logging.Handler):
    """Stands for what Sentry's logging integration does with every error that is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        event = {"level": "error", "logentry": {"formatted": record.getMessage()}}
        sent.append(before_send(event, {"log_record": record}))


async def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger().addHandler(Tracker(level=logging.ERROR))
    async with app.working():
        job = await charge.enqueue(order=7)
        try:
            await job.result(timeout=10)
        except JobDead as dead:
            print(dead)
    await app.close()
    [event] = sent
    print(event["fingerprint"], event["exception"]["values"])
    assert event["fingerprint"] == ["backstay", "charge", "ValueError"]


asyncio.run(main())
