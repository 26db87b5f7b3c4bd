"""The HTTP API of an application: mounted into its own site, called with an API key."""

import asyncio

import httpx
from fastapi import FastAPI

from backstay import Backstay
from backstay.http import ApiKeyAccess, api

app = Backstay()


@app.job
async def add(a: int, b: int) -> int:
    return a + b


site = FastAPI()
site.mount("/api/v1", api(app, authenticate=ApiKeyAccess(app).authenticate))


async def main() -> None:
    key = await app.api_keys.create("shop", role="operator", tenant="acme", sees_payloads=True)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(site),
        base_url="http://example.test/api/v1",
        headers={"Authorization": f"Bearer {key.text}"},
    ) as client:
        job = {"kind": "add", "args": {"a": 1, "b": 2}}
        first = await client.post("/jobs", json=job, headers={"Idempotency-Key": "order-7"})
        again = await client.post("/jobs", json=job, headers={"Idempotency-Key": "order-7"})
        print(first.status_code, again.status_code, first.json()["id"] == again.json()["id"])

        async with app.working():
            answer = await client.get(f"/jobs/{first.json()['id']}/result", params={"timeout": 10})
        print(answer.json()["result"])

        wrong = await client.post("/jobs", json={"kind": "add", "args": {"a": "one"}})
        print(wrong.status_code, wrong.json()["code"])
    await app.close()


asyncio.run(main())
