"""The job type provider_verification: is a clinician's number known to the registry?"""

from typing import Any

import httpx

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.identity.numbers import is_provider_number
from backstay_exora.domain.kinds import Category


@app.job(timeout="1m")
async def provider_verification(
    ctx: Context, number: str, job_category: Category = Category.STANDARD
) -> dict[str, Any] | None:
    """Check the digit, ask the registry over HTTP, and keep the answer."""
    if not is_provider_number(number):
        raise failure("BAD_REQUEST", "the number's check digit is wrong")
    found = await ctx.step("look up", _look_up, number)
    async with ctx.transaction() as tx:
        await tx.connection.execute(
            "INSERT INTO exora.providers (number, name, status, checked_at) VALUES ($1, $2, $3, now())"
            " ON CONFLICT (number) DO UPDATE SET name = EXCLUDED.name, status = EXCLUDED.status, checked_at = now()",
            number,
            found.get("name"),
            "verified",
        )
        tx.result({"number": number, "status": "verified"})
    return None


async def _look_up(number: str) -> dict[str, Any]:
    try:
        async with httpx.AsyncClient(timeout=20) as client:
            answer = await client.get(f"{settings.registry_url}/providers", params={"number": number})
    except httpx.HTTPError as error:
        raise failure("REGISTRY_UNAVAILABLE", "the registry could not be reached") from error
    if answer.status_code >= 500 or answer.status_code == 429:
        raise failure("REGISTRY_UNAVAILABLE", f"the registry answered {answer.status_code}")
    if answer.status_code == 404:
        raise failure("PROVIDER_UNKNOWN", "the registry does not know this number")
    return {"name": str(answer.json()["name"])}
