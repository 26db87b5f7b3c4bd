"""One busy afternoon: everything the shop enqueues."""

from __future__ import annotations

import asyncio
import random

from app import app, charge_card, check_address, invoice, order_email, reminder, sales_report, thumbnail

ORDERS = range(1001, 1151)
NAMES = ("Ada", "Bela", "Chiyo", "Dmitri", "Esi")


async def enqueue_everything() -> tuple[int, bool]:
    """Returns how many jobs there are now, and whether a repeated key led to the first job."""
    twice = order_email.options(key="order-1000-confirmation")
    first = await twice.enqueue(order=1000, customer="Ada")
    second = await twice.enqueue(order=1000, customer="Ada")
    found_again = first.id == second.id and first.is_new and not second.is_new

    # Single enqueues at the same time share a statement. Money comes first: a lower number is more urgent.
    singles = [
        *(order_email.enqueue(order=order, customer=NAMES[order % 5]) for order in ORDERS),
        *(charge_card.options(priority=4).enqueue(order=order, cents=order * 3) for order in ORDERS[::2]),
        *(sales_report.enqueue(day=day) for day in range(1, 17)),
        *(reminder.options(delay=2 + basket * 0.4).enqueue(basket=basket) for basket in range(30)),
    ]
    chance = random.Random(7)
    chance.shuffle(singles)
    handles = await asyncio.gather(*singles)

    # Many at once are stored together, all or none.
    batch = [
        *(invoice.args(order=order, cents=order * 3) for order in ORDERS),
        *(thumbnail.args(product=product) for product in range(1, 81)),
        *(
            check_address.args(order=order, street="Nowhere Lane" if order % 3 == 0 else "Main Street")
            for order in ORDERS[::4]
        ),
    ]
    chance.shuffle(batch)
    more = await app.jobs.enqueue_many(batch)
    return 1 + len(handles) + len(more), found_again
