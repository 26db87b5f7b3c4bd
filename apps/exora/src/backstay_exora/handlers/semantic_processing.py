"""The job type semantic_processing: an index vector of a document's narrative, for finding similar ones."""

from typing import Any
from uuid import UUID

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_exora.domain.similarity import vector_of
from backstay_exora.handlers.ai_processing import PROMOTED
from backstay_exora.store.connections import connect


@app.job(timeout="1m", promote=PROMOTED[1:2])
async def semantic_processing(
    ctx: Context, shell_file_id: UUID, job_category: Category = Category.BACKGROUND
) -> dict[str, Any] | None:
    """Replace the vector of the document; a document without a narrative is refused."""
    async with connect(settings.database_url) as connection:
        text = await connection.fetchval(
            "SELECT text FROM exora.clinical_narratives WHERE shell_file_id = $1 AND text IS NOT NULL",
            shell_file_id,
        )
    if not text:
        raise failure("BAD_REQUEST", "the document has no narrative yet")
    vector = vector_of(text)
    async with ctx.transaction() as tx:
        await tx.connection.execute(
            "INSERT INTO exora.document_embeddings (shell_file_id, vector) VALUES ($1, $2)"
            " ON CONFLICT (shell_file_id) DO UPDATE SET vector = EXCLUDED.vector, created_at = now()",
            shell_file_id,
            vector,
        )
        tx.result({"dimensions": len(vector)})
    return None
