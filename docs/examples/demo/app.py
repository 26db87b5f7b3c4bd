"""The back office of a small shop: every kind of job it has, and what each does."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from pictures import photo, shrink, to_png

from backstay import Backoff, Backstay, Context, Hopeless, Profile

FOLDER = Path(os.environ.get("SHOP_FOLDER", "."))

profile = Profile(name="shop", policy={"backoff": Backoff("400ms", multiplier=1.5)})
app = Backstay(os.environ.get("BACKSTAY_URL"), profile=profile)


@app.job(queue="mail")
async def order_email(ctx: Context, order: int, customer: str) -> None:
    """Confirm an order."""
    await asyncio.sleep(0.08 + order % 7 * 0.02)
    write(f"outbox/order-{order}.txt", f"Dear {customer},\n\nthank you for order {order}.\n")
    note(ctx)


@app.job(queue="mail")
async def reminder(ctx: Context, basket: int) -> None:
    """Remind somebody of a basket they left behind; enqueued with a delay."""
    write(f"outbox/basket-{basket}.txt", "You left something in your basket.\n")
    note(ctx)


@app.job
def invoice(ctx: Context, order: int, cents: int) -> str:
    """Write an invoice as a text file; returns its path."""
    time.sleep(0.04)
    path = write(f"invoices/{order}.txt", f"Invoice {order}\nTotal {cents / 100:>10.2f} EUR\n")
    note(ctx)
    return path


@app.job(queue="pictures")
def thumbnail(ctx: Context, product: int) -> int:
    """Shrink a product's photo to a PNG; returns its size in bytes."""
    png = to_png(shrink(photo(product), by=4))
    write(f"thumbnails/{product}.png", png)
    note(ctx)
    return len(png)


@app.job(max_attempts=8)
async def charge_card(ctx: Context, order: int, cents: int) -> str:
    """Ask the payment gateway for money; it is often out of breath."""
    await asyncio.sleep(0.1)
    if (order * 7 + ctx.attempt * 5) % 10 < 4:
        raise ConnectionError("the payment gateway does not answer")
    note(ctx)
    # A real gateway would be handed ctx.idempotency_key, so that a repeated attempt never charges twice.
    return f"paid {cents} under {ctx.idempotency_key}"


@app.job
async def check_address(ctx: Context, order: int, street: str) -> None:
    """Look a street up; one that does not exist will not exist in five minutes either."""
    await asyncio.sleep(0.05)
    if street == "Nowhere Lane":
        raise Hopeless(f"there is no {street}")
    note(ctx)


@app.job(queue="reports", timeout="20s")
async def sales_report(ctx: Context, day: int) -> int:
    """Add up a day's sales, slowly."""
    total = 0
    for hour in range(24):
        await asyncio.sleep(0.07)
        total += day * hour
    note(ctx)
    return total


def write(name: str, content: str | bytes) -> str:
    """Put a file into the shop's folder. Doing it twice is doing it once: the name comes from the order."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def note(ctx: Context) -> None:
    """Add a line to the journal: this run of this job has done its work. Short appends are atomic."""
    line = f"{ctx.job_id} {ctx.kind} {ctx.run} {os.environ.get('SHOP_WORKER', '-')}\n"
    with (FOLDER / "journal.txt").open("a") as journal:
        journal.write(line)
