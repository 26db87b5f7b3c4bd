"""The job type backup_operation: the application's tables as a dump with its hash, in the storage."""

import asyncio
import hashlib
import shutil
from typing import Any

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_exora.files import storage_of


@app.job(timeout="30m")
async def backup_operation(
    ctx: Context, schema: str = "exora", job_category: Category = Category.MAINTENANCE
) -> dict[str, Any]:
    """Dump a schema with pg_dump, keep it, and read it back to compare the hash."""
    program = shutil.which("pg_dump")
    if program is None:
        raise failure("BACKUP_FAILED", "the program pg_dump is not installed")
    process = await asyncio.create_subprocess_exec(
        program,
        "--format=custom",
        f"--schema={schema}",
        settings.database_url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    dump, _ = await process.communicate()
    if process.returncode != 0 or not dump:
        raise failure("BACKUP_FAILED", f"pg_dump ended with code {process.returncode}")
    key = f"backups/{ctx.job_id}.dump"
    storage = storage_of(settings)
    await storage.put(key, dump)
    digest = hashlib.sha256(await storage.get(key)).hexdigest()
    if digest != hashlib.sha256(dump).hexdigest():
        raise failure("BACKUP_FAILED", "the stored dump is not the dump that was made")
    return {"key": key, "bytes": len(dump), "sha256": digest}
