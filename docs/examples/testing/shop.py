"""A small shop, whose jobs are tested beside it."""

from backstay import Backstay, Context

app = Backstay()
charges: dict[str, int] = {}


@app.job(queue="mail")
async def send_receipt(order: int) -> str:
    return f"receipt for order {order}"


@app.job(max_attempts=3)
async def charge(ctx: Context, order: int, cents: int) -> None:
    if cents <= 0:
        raise ValueError(f"order {order} costs {cents}")
    charges[ctx.idempotency_key] = cents  # writing it twice does no harm
    await send_receipt.options(delay="5m").enqueue(order=order)


@app.job
def import_orders(lines: list[str]) -> int:
    for line in lines:
        charge.enqueue_sync(order=int(line), cents=100)
    return len(lines)
