"""One busy afternoon: everything the shop enqueues."""

from __future__ import annotations

import asyncio

from app import app, charge_card, check_address, invoice, order_email, reminder, sales_report, thumbnail

NAMES = ("Ada", "Bela", "Chiyo", "Dmitri", "Esi")
HOURS = 5


async def enqueue_everything() -> tuple[int, bool]:
    """Returns how many jobs there are now, and whether a repeated key led to the first job."""
    twice = order_email.options(key="order-1000-confirmation")
    first = await twice.enqueue(order=1000, customer="Ada")
    second = await twice.enqueue(order=1000, customer="Ada")
    found_again = first.id == second.id and first.is_new and not second.is_new

    stored = [await enqueue_hour(range(1001 + hour, 1201, HOURS)) for hour in range(HOURS)]
    return 1 + sum(stored), found_again


async def enqueue_hour(orders: range) -> int:
    """What one hour's orders lead to; returns how many jobs."""
    # Single enqueues at the same time share a statement. Money comes first: a lower number is more urgent.
    singles = [
        *(order_email.enqueue(order=order, customer=NAMES[order % 5]) for order in orders),
        *(charge_card.options(priority=4).enqueue(order=order, cents=order * 3) for order in orders[::2]),
        *(sales_report.enqueue(day=order - 1000) for order in orders[::8]),
        *(reminder.options(delay=2 + order % 60 * 0.2).enqueue(basket=order) for order in orders[::7]),
    ]
    handles = await asyncio.gather(*singles)

    # Many at once are stored together, all or none.
    batch = [
        *(invoice.args(order=order, cents=order * 3) for order in orders),
        *(thumbnail.args(product=order) for order in orders[::2]),
        *(check_address.args(order=order, street=street_of(order)) for order in orders[::4]),
    ]
    return len(handles) + len(await app.jobs.enqueue_many(batch))


def street_of(order: int) -> str:
    return "Nowhere Lane" if order % 3 == 0 else "Main Street"
