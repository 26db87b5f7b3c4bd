"""The dashboard below a web application that knows its people already.

Run it with `python docs/examples/dashboard_mounted.py --serve` and open http://127.0.0.1:8000/jobs/?as=grace.
Without `--serve` it asks itself a few questions and prints the answers.
"""

import asyncio
import os
import sys

import httpx
import uvicorn
from fastapi import FastAPI, Request

from backstay import Backstay
from backstay.dashboard import dashboard
from backstay.http import Person, Role

app = Backstay("sqlite://:memory:")
TEAM = {
    "grace": Person("grace", tenant="*", role=Role.ADMIN, sees_payloads=True),
    "heidi": Person("heidi", tenant="north", role=Role.OPERATOR),
    "ivan": Person("ivan", tenant="*", role=Role.VIEWER),
}


@app.job
async def send_mail(to: str) -> None: ...


async def who_is_it(request: Request) -> Person | None:
    """Ask your own login; this example believes what stands in the address, which you must not."""
    name = request.query_params.get("as") or request.cookies.get("as", "")
    return TEAM.get(name)


site = FastAPI()
secret = os.environ.get(
    "DASHBOARD_SECRET", ""
)  # the same for all processes of a server, at least 32 characters
site.mount("/jobs", dashboard(app, authenticate=who_is_it, secret=secret))


async def ask() -> None:
    job = await send_mail.options(tenant="south").enqueue(to="ada@example.org")
    transport = httpx.ASGITransport(site)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        for name in ("nobody", "grace", "heidi", "ivan"):
            answer = await browser.get(f"/jobs/jobs/{job.id}?as={name}")
            sees = "sees the address" if "ada@example.org" in answer.text else "does not"
            print(f"{name}: {answer.status_code}, {sees}")
    await app.close()


if __name__ == "__main__":
    if "--serve" in sys.argv:
        uvicorn.run(site, host="127.0.0.1", port=8000)
    else:
        asyncio.run(ask())
