"""The job type audit_cleanup: audit lines beyond their time go, and the chain of the others stays whole."""

from datetime import timedelta
from typing import Any

from backstay import Context
from backstay_exora.app import app
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category

SHORTEST_DAYS = 365


@app.job(timeout="10m")
async def audit_cleanup(
    ctx: Context, keep_days: int = 2555, job_category: Category = Category.MAINTENANCE
) -> dict[str, Any] | None:
    """Remove lines older than `keep_days`; less than a year is refused."""
    if keep_days < SHORTEST_DAYS:
        raise failure("BAD_REQUEST", f"audit lines are kept for at least {SHORTEST_DAYS} days")
    async with ctx.transaction() as tx:
        removed = await tx.connection.fetchval(
            "SELECT exora.forget_audit_lines($1)", timedelta(days=keep_days)
        )
        tx.result({"removed": removed})
    return None
