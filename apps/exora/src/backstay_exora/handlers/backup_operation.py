"""The job type backup_operation: the application's tables as a dump with its hash, in the storage."""

import asyncio
import hashlib
import os
import shutil
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

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
    dump = await dump_schema(settings.database_url, schema)
    key = f"backups/{ctx.job_id}.dump"
    storage = storage_of(settings)
    await storage.put(key, dump)
    digest = hashlib.sha256(await storage.get(key)).hexdigest()
    if digest != hashlib.sha256(dump).hexdigest():
        raise failure("BACKUP_FAILED", "the stored dump is not the dump that was made")
    return {"key": key, "bytes": len(dump), "sha256": digest}


async def dump_schema(url: str, schema: str) -> bytes:
    """The dump of a schema with all its rows; fails with BACKUP_FAILED."""
    program = shutil.which("pg_dump")
    if program is None:
        raise failure("BACKUP_FAILED", "the program pg_dump is not installed")
    arguments, environment = _call(url, schema)
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    dump, _ = await process.communicate()
    if process.returncode != 0 or not dump:
        raise failure("BACKUP_FAILED", f"pg_dump ended with code {process.returncode}")
    return dump


def _call(url: str, schema: str) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment; the password is in the environment, because everybody sees arguments."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{quote(unquote(parts.username), safe='')}@" if parts.username else ""
    shown = urlunsplit(parts._replace(netloc=f"{user}{host}"))
    password = {"PGPASSWORD": unquote(parts.password)} if parts.password else {}
    # The tables' owner is held to row security, too; its own policy lets it see every row.
    return ["--format=custom", "--enable-row-security", f"--schema={schema}", shown], password
