"""The job type data_migration: fills promoted columns of jobs that were stored before them, in resumable batches."""

from backstay import Context
from backstay_exora.app import app
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category


@app.job(timeout="30m")
async def data_migration(
    ctx: Context,
    name: str = "promoted_columns",
    batch_size: int = 500,
    job_category: Category = Category.BACKGROUND,
) -> dict[str, int]:
    """Go through all jobs; a run that was interrupted goes on where it stood."""
    if name != "promoted_columns" or not 1 <= batch_size <= 5000:
        raise failure("BAD_REQUEST", "the migration promoted_columns takes a batch_size from 1 to 5000")
    done = await app.promoted.fill(chunk=batch_size)
    ctx.progress(done.filled)
    return {"filled": done.filled, "problems": len(done.problems)}
