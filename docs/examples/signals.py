"""A job that waits for a person, and one that waits for nothing longer than it must."""

import asyncio
from dataclasses import dataclass

from backstay import Backstay, Context
from backstay.errors import SignalTimeout

app = Backstay()
reserved: list[int] = []


@dataclass
class Approval:
    by: str
    limit: int


async def reserve(cents: int) -> int:
    reserved.append(cents)
    return len(reserved)


@app.job
async def pay_out(ctx: Context, cents: int) -> str:
    """Reserve once, wait as long as it takes, then pay."""
    number = await ctx.step("reserve", reserve, cents)
    approval = await ctx.wait_for("approval", type=Approval)
    if cents > approval.limit:
        return f"refused: {approval.by} allows {approval.limit}"
    return f"paid {cents} from reservation {number}, approved by {approval.by}"


@app.job
async def ask_the_shop(ctx: Context) -> str:
    """Go on without an answer after a while."""
    try:
        answer: str = await ctx.wait_for("answer", timeout="200ms")
    except SignalTimeout:
        return "no answer, so we ask somebody else"
    return answer


@app.job
def print_label(ctx: Context, parcel: int) -> str:
    """In a thread: the same, and the thread is free while the job waits."""
    weight = ctx.wait_for_sync("weight", type=float)
    return f"parcel {parcel}: {weight:.1f} kg"


async def main() -> None:
    async with app.working():
        payment = await pay_out.enqueue(cents=500)
        # It does not matter whether the job waits already: a signal that comes early is kept.
        await app.signals.send(
            payment, "approval", {"by": "ann", "limit": 1000}, key="approval-500", by="ann"
        )
        print(await payment.result(timeout=10))
        print(reserved)

        question = await ask_the_shop.enqueue()
        print(await question.result(timeout=10))

        # Held from the start: not claimed before the signal has come.
        label = await print_label.options(wait_for="weight", wait_timeout="7d").enqueue(parcel=7)
        await app.signals.send(label, "weight", 2.5)
        print(await label.result(timeout=10))

        for signal in await app.signals.of_job(payment):
            print(f"{signal.name} from {signal.sent_by}: {signal.payload}")
    await app.close()


asyncio.run(main())
