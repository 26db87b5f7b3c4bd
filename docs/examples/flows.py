"""Jobs that wait for other jobs: a report from many pages, with a branch, a callback and jobs added on the way."""

import asyncio

from backstay import Backstay, Context, Flow

app = Backstay()


@app.job
async def fetch(url: str) -> str:
    return f"words of {url}"


@app.job
async def merge(pages: list[str]) -> dict[str, int]:
    return {"pages": len(pages), "words": sum(len(page.split()) for page in pages)}


@app.job
async def mail(to: str) -> None:
    print(f"mail to {to}")


@app.job
async def clean_up(what: str) -> None:
    print(f"cleaned up {what}")


@app.job
async def crawl(ctx: Context, site: str) -> None:
    """Adds jobs to the flow that it is part of."""
    more = app.flow(within=ctx)
    found = [more.add(fetch, url=f"{site}/{number}") for number in range(2)]
    more.add(merge, pages=[page.result for page in found])
    await more.enqueue()


@app.job
async def flow_ended(name: str) -> None:
    print(f"the flow {name!r} has ended")


def monthly_report(urls: list[str]) -> Flow:
    """Fetch all pages, merge them, and tell those whom it concerns."""
    flow = app.flow("monthly report")
    pages = [flow.add(fetch, url=url) for url in urls]
    merged = flow.add(merge, pages=[page.result for page in pages])
    flow.add(mail, to="everybody").after(merged)
    flow.add(mail, to="the archive").after(merged.when("/pages", ">", 100))
    flow.add(clean_up, what="pages").after(merged, wait_for="completion")
    flow.on_complete(flow_ended, name="monthly report")
    return flow


def nightly(sites: list[str]) -> Flow:
    """The same shapes from calls that are checked already."""
    flow = app.flow("nightly")
    begun, checked = flow.chain(clean_up.args(what="yesterday"), mail.args(to="the night shift"))
    flow.label(begun, "begin")
    crawled = flow.fan_out([crawl.args(site=site) for site in sites], after=checked)
    flow.fan_in(mail.args(to="the day shift"), after=crawled, on_failure="run")
    return flow


async def main() -> None:
    async with app.working():
        report = await monthly_report(["a", "b", "c"]).enqueue()
        for job in report.jobs[:5]:
            await job.result(timeout=10)
        await report.jobs[6].result(timeout=10)
        await report.jobs[7].result(timeout=10)
        print((await app.flows.get(report.id)).jobs)

        night = await nightly(["x"]).enqueue()
        await night.jobs[-1].result(timeout=10)
        print([job.label or job.kind for job in await app.flows.members(night.id)])

        again = await app.flows.retry_from(report.jobs[0].id, by="ada", reason="page a was wrong")
        for job_id in again[:2]:
            await app.jobs.result(job_id, timeout=10)

        stopped = await monthly_report(["d"]).enqueue()
        await app.flows.cancel(stopped.id, by="ada", reason="wrong month")

        jobs = [
            {"name": "page", "kind": "fetch", "args": {"url": "e"}},
            {
                "name": "sum",
                "kind": "merge",
                "args": {"pages": [None]},
                "after": [{"job": "page", "place": "/pages/0"}],
            },
        ]
        plain = await app.flows.start("from a file", jobs)
        print(await plain.jobs[1].result(timeout=10))
    await app.close()


asyncio.run(main())
