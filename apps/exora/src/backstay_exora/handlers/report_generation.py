"""The job type report_generation: a patient's facts as PDF or Excel, with an address to fetch it from."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_exora.files import storage_of
from backstay_exora.handlers.ai_processing import PROMOTED
from backstay_exora.store.connections import connect
from backstay_exora.store.facts import facts_of
from backstay_parts.optional import need
from backstay_parts.pdf import PageFrame, write_pdf
from backstay_parts.sheets import write_xlsx

_COLUMNS = ("kind", "name", "dose", "frequency", "reaction", "filename", "page")
_TYPES = {
    "pdf": "application/pdf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_VALID_FOR = timedelta(days=7)


@app.job(timeout="5m", promote=PROMOTED[:1])
async def report_generation(
    ctx: Context,
    practice_id: str,
    patient_id: UUID,
    form: str = "pdf",
    job_category: Category = Category.STANDARD,
) -> dict[str, Any]:
    """Write the report under a name that belongs to the job, so that a repeated run writes the same object."""
    if form not in _TYPES:
        raise failure("BAD_REQUEST", "a report is pdf or xlsx")
    async with connect(settings.database_url) as connection:
        facts = await facts_of(connection, patient_id=patient_id)
    rows = [[str(fact[name]) for name in _COLUMNS] for fact in facts]
    content = _pdf(rows) if form == "pdf" else write_xlsx({"facts": [list(_COLUMNS), *rows]})
    key = f"{practice_id}/reports/{ctx.job_id}.{form}"
    storage = storage_of(settings)
    await storage.put(key, content, content_type=_TYPES[form])
    return {"facts": len(rows), "url": await storage.signed_url(key, expires_in=_VALID_FOR), "key": key}


def _pdf(rows: list[list[str]]) -> bytes:
    platypus, colors = need("reportlab.platypus", extra="pdf"), need("reportlab.lib.colors", extra="pdf")
    table = platypus.Table([list(_COLUMNS), *rows], repeatRows=1)
    table.setStyle([("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.black), ("FONTSIZE", (0, 0), (-1, -1), 8)])
    return write_pdf(PageFrame("Facts with their sources"), [table])
