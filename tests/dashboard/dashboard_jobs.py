"""Jobs of every sort that the dashboard shows."""

from __future__ import annotations

from backstay import Backstay, Context, Hopeless, Limit

HOSTILE = "<script>document.title='pwned'</script>\"'><img src=x onerror=alert(1)>"


def make_app() -> Backstay:
    """An application with the kinds that the tests enqueue by name."""
    app = Backstay("sqlite://:memory:")

    @app.job(queue="mail")
    async def send_mail(to: str) -> str:
        return f"sent to {to}"

    @app.job(queue="payments", max_attempts=1)
    async def charge(order: int, cents: int = 100) -> int:
        if cents < 1000:
            raise ConnectionError(f"the gateway refused order {order}")
        return cents

    @app.job(queue="payments", max_attempts=2)
    async def flaky(order: int) -> None:
        raise ValueError(f"no luck with {order}")

    @app.job(queue="imports")
    async def read_file(path: str) -> None:
        raise Hopeless(f"there is no {path}")

    @app.job(queue="approvals")
    async def approve(ctx: Context, order: int) -> str:
        await ctx.step("look it up", lambda: {"order": order})
        return str(await ctx.wait_for("decision", timeout="7d"))

    @app.job(queue="reports")
    async def count_up(ctx: Context, total: int) -> None:
        ctx.progress(total // 2, total=total, message="half way")

    @app.job(queue="pictures", limit=Limit(1, key="album:{album}"))
    async def shrink(album: int) -> None: ...

    @app.job(queue="catalogue")
    async def publish(site: str = "shop") -> str:
        return site

    @app.schedule("0 3 * * *", name="nightly")
    @app.job(queue="reports")
    async def nightly() -> None: ...

    return app


async def enqueue(app: Backstay, kind: str, **args: object) -> str:
    """Store a job by name and return its id."""
    return str((await app.jobs.enqueue_by_name(kind, args)).id)


async def start_flow(app: Backstay) -> str:
    """Store two jobs, one that waits for both and one after it; return the id of the flow."""
    handle = await app.flows.start(
        "spring",
        [
            {"name": "photos", "kind": "publish"},
            {"name": "texts", "kind": "publish"},
            {"name": "page", "kind": "publish", "after": ["photos", "texts"]},
            {"name": "tell", "kind": "send_mail", "args": {"to": "all"}, "after": ["page"]},
        ],
    )
    return str(handle.id)
