"""The job type system_maintenance: statistics, what nobody could send or tell, staged files nobody took."""

from typing import Any

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_exora.retraction import remove_pictures_of_retracted
from backstay_exora.review import send_decisions
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import tell_failures

_TASKS = ("analyse", "retracted_pictures", "send_decisions", "staged_files", "tell_failures")


@app.job(timeout="10m")
async def system_maintenance(
    ctx: Context, task: str = "analyse", job_category: Category = Category.MAINTENANCE
) -> dict[str, Any]:
    """Do one task by its name."""
    if task not in _TASKS:
        raise failure("BAD_REQUEST", f"the tasks are {', '.join(_TASKS)}")
    if task == "send_decisions":
        return {"sent": await send_decisions()}
    if task == "retracted_pictures":
        return {"removed": await remove_pictures_of_retracted()}
    async with connect(settings.database_url) as connection:
        if task == "tell_failures":
            return {"told": await tell_failures(connection)}
        if task == "analyse":
            tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'exora'")
            for row in tables:
                await connection.execute(f'ANALYZE exora."{row["tablename"]}"')
            return {"analysed": len(tables)}
        done = await connection.execute(
            "DELETE FROM exora.staged_files WHERE staged_at < now() - interval '7 days'"
        )
        return {"removed": int(done.split()[-1])}
