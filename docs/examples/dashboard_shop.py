"""A shop whose jobs show what the dashboard has: progress, failures, limits, flows, schedules, signals.

`python docs/examples/dashboard_shop.py --serve` fills a database, works on it and prints the dashboard's address.
Without `--serve` it looks at a page by itself, prints what that says, and ends.
"""

import asyncio
import os
import sys
import tempfile

import httpx

from backstay import Backstay, Context, Flow, Hopeless, Limit
from backstay.dashboard import Standalone
from backstay.records import JobFilter

app = Backstay(os.environ.get("BACKSTAY_URL", f"sqlite:///{tempfile.mkdtemp()}/shop.db"))
app.queue("mail", limit=20)


@app.job(queue="mail")
async def send_mail(to: str, subject: str = "Your order") -> None:
    """Send one message."""
    await asyncio.sleep(0.02)


@app.job(queue="reports", timeout="1h")
async def sales_report(ctx: Context, month: str, pages: int = 400) -> dict[str, int]:
    """Add up a month, page by page; tells how far it is."""
    regions = await ctx.step("find regions", find_regions)
    for page in range(pages):
        ctx.progress(page, total=pages, message=f"page {page} of {month}")
        await asyncio.sleep(0.25)
    return {"pages": pages, "regions": len(regions)}


async def find_regions() -> list[str]:
    return ["north", "south", "overseas"]


@app.job(queue="payments", max_attempts=1, limit=Limit(3, key="card:{customer}"))
async def charge_card(order: int, customer: int, cents: int) -> str:
    """Ask the payment gateway for money; every third order is refused."""
    await asyncio.sleep(0.05)
    if order % 3 == 0:
        raise ConnectionError(f"the gateway refused order {order}")
    return f"paid {cents} cents"


@app.job(queue="imports")
async def import_prices(path: str) -> None:
    """Read a price list that the supplier has forgotten to send."""
    raise Hopeless(f"there is no file {path}")


@app.job(queue="approvals")
async def ship_abroad(ctx: Context, order: int) -> None:
    """Wait until somebody at customs has agreed."""
    await ctx.wait_for("customs", timeout="7d")


@app.job(queue="catalogue")
async def fetch_photo(product: int) -> str:
    return f"photo-{product}.jpg"


@app.job(queue="catalogue")
async def make_page(photos: list[str]) -> int:
    return len(photos)


@app.job(queue="catalogue")
async def publish(site: str) -> None: ...


@app.schedule("30 6 * * 1-5", zone="Europe/Berlin")
@app.job(queue="reports")
async def morning_digest() -> None:
    """Tell the team how the night went."""


@app.schedule(every="15m")
@app.job(queue="catalogue")
async def refresh_stock() -> None:
    """Ask the warehouse how much is left."""


async def fill(app: Backstay) -> None:
    """Enqueue a little of everything."""
    await app.jobs.enqueue_many([send_mail.args(to=f"customer{n}@example.org") for n in range(60)])
    await app.jobs.enqueue_many(
        [charge_card.args(order=n, customer=n % 5, cents=1000 + n) for n in range(1, 40)]
    )
    for month in ("2026-01", "2026-02"):
        await sales_report.options(name=f"Sales of {month}", tags=["finance"]).enqueue(month=month)
    for name in ("prices-a.csv", "prices-b.csv"):
        await import_prices.options(created_by="grace").enqueue(path=f"/incoming/{name}")
    await ship_abroad.options(tags=["customs"]).enqueue(order=77)
    await send_mail.options(delay="3h").enqueue(to="ada@example.org", subject="Your basket")
    await send_mail.options(queue="newsletter").enqueue(to="everybody@example.org", subject="Spring")
    await app.queues.pause("newsletter", reason="the text is not approved yet", by="grace")
    await catalogue(app).enqueue()
    await export(app).enqueue()
    await let_branches_write(app)


async def let_branches_write(app: Backstay) -> None:
    """Letters of three branches, each a tenant; those of the last winter are cancelled by an operation."""
    for branch, letters in {"north": 12, "south": 5, "overseas": 3}.items():
        await send_mail.options(tenant=branch, delay="2h").enqueue_many(
            [{"to": f"{branch}-{number}@example.org"} for number in range(letters)]
        )
    await app.quotas.set(500, tenant="south", by="grace", reason="a trial branch")
    await app.queues.pause(tenant="overseas", by="grace", reason="its contract has ended")
    await send_mail.options(tags=["winter"], delay="30d").enqueue_many(
        [{"to": f"customer{number}@example.org", "subject": "Winter sale"} for number in range(40)]
    )
    await app.operations.start(
        "jobs.cancel", JobFilter(tag="winter"), reason="the winter is over", by="grace", pace=0.3
    )


def catalogue(app: Backstay) -> Flow:
    """Photos, a page of them, and two places to publish it."""
    flow = app.flow("spring catalogue")
    photos = [flow.add(fetch_photo, product=n) for n in range(1, 5)]
    page = flow.add(make_page, photos=[photo.result for photo in photos])
    for site in ("shop", "partners"):
        flow.label(flow.add(publish, site=site).after(page), f"publish to {site}")
    return flow


def export(app: Backstay) -> Flow:
    """Pages that may only go abroad when customs has agreed."""
    flow = app.flow("export to Norway")
    page = flow.add(make_page, photos=["photo-1.jpg"])
    customs = flow.add(ship_abroad, order=78)
    flow.label(flow.add(publish, site="norway").after(page, customs), "publish in Norway")
    return flow


async def main(*, stays: bool) -> None:
    await app.migrate()
    await fill(app)
    server = Standalone(app, port=0)
    serving = asyncio.create_task(server.serve())
    async with app.working(concurrency=8, shutdown_grace="1s"):
        await app.schedules.run_now("refresh_stock", by="grace")
        if stays:
            print(f"The dashboard is at {server.address}")
        else:
            await look(server.address)
            server.stop()
        await serving


async def look(address: str) -> None:
    """Open the link as a browser would, and tell what the first page says."""
    async with httpx.AsyncClient(follow_redirects=True, headers={"Accept": "text/html"}) as browser:
        stranger = await browser.get(address.partition("/enter")[0])
        print("without the link:", stranger.status_code)
        page = await browser.get(address)
        print("with the link:", page.status_code, page.url.path)
        print("the newest dead letters are on it:", "Newest dead letters" in page.text)


if __name__ == "__main__":
    asyncio.run(main(stays="--serve" in sys.argv))
