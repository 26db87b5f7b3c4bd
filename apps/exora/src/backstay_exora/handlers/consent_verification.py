"""The job type consent_verification: may this patient's record be shared for this purpose now?"""

from typing import Any
from uuid import UUID

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_exora.handlers.ai_processing import PROMOTED
from backstay_exora.store.connections import connect


@app.job(timeout="1m", promote=PROMOTED[:1])
async def consent_verification(
    ctx: Context, patient_id: UUID, purpose: str, job_category: Category = Category.STANDARD
) -> dict[str, Any]:
    """A consent that is given, not withdrawn and not expired; anything else fails with CONSENT_MISSING."""
    async with connect(settings.database_url) as connection:
        row = await connection.fetchrow(
            "SELECT given_at, expires_at FROM exora.consents WHERE patient_id = $1 AND purpose = $2"
            " AND given_at <= now() AND withdrawn_at IS NULL AND (expires_at IS NULL OR expires_at > now())",
            patient_id,
            purpose,
        )
    if row is None:
        raise failure("CONSENT_MISSING", "there is no valid consent for this purpose")
    expires = row["expires_at"]
    return {
        "purpose": purpose,
        "given_at": row["given_at"].isoformat(),
        "expires_at": expires and expires.isoformat(),
    }
