"""Tenants on several databases: each has one of them, and few move when another database is added."""

import asyncio
import hashlib

from backstay import Backstay, JobOptions


def make(url: str) -> Backstay:
    """The same handlers on another database."""
    app = Backstay(url)

    @app.job
    async def bill(number: int) -> int:
        return number

    return app


def home_of(tenant: str, names: list[str]) -> str:
    """The database of a tenant: that whose hash with it is highest, so that a new one takes a share from each."""
    return max(names, key=lambda name: hashlib.sha256(f"{name}/{tenant}".encode()).digest())


async def main() -> None:
    apps = {name: make(f"sqlite:///{name}.db") for name in ("north", "east", "south", "west")}
    tenants = [f"tenant-{number}" for number in range(40)]
    for tenant in tenants:
        app = apps[home_of(tenant, list(apps))]
        await app.jobs.enqueue_by_name("bill", {"number": 1}, JobOptions(tenant=tenant))
    for name, app in apps.items():
        print(name, sum(count.jobs for count in await app.jobs.counts()))
        await app.close()

    more = [*apps, "middle"]
    moved = [tenant for tenant in tenants if home_of(tenant, more) != home_of(tenant, list(apps))]
    print(f"{len(moved)} of {len(tenants)} tenants move to the fifth database")
    assert {home_of(tenant, more) for tenant in moved} == {"middle"}


asyncio.run(main())
