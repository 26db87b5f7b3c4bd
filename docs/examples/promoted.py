"""Find jobs by their arguments: promoted fields, with a foreign key to a table of your own."""

import asyncio
import sqlite3
from uuid import UUID

from backstay import Backstay, PromotedField, References
from backstay.errors import FieldRefused
from backstay.records import JobFilter

ADA = UUID("0190163d-8694-739b-aea5-966c26f8ad91")
app = Backstay("sqlite:///clinic.db")


@app.job(promote=[PromotedField("patient_id", References("patients.id")), "page"])
async def read_scan(patient_id: UUID, page: int, engine: str = "fast") -> None:
    print("read page", page)


def make_patients() -> None:
    with sqlite3.connect("clinic.db") as file:
        file.execute("CREATE TABLE IF NOT EXISTS patients (id text PRIMARY KEY)")
        file.execute("INSERT OR IGNORE INTO patients (id) VALUES (?)", (str(ADA),))


async def main() -> None:
    make_patients()
    # What 'backstay db migrate --app clinic:app' does; on SQLite and PostgreSQL alike it is never done in passing.
    await app.promoted.migrate()

    for page in (1, 2, 3):
        await read_scan.enqueue(patient_id=ADA, page=page)
    found = await app.jobs.search(JobFilter(promoted={"patient_id": ADA}))
    print([job.args["page"] for job in found.jobs])

    try:
        await read_scan.enqueue(patient_id=UUID(int=0), page=1)
    except FieldRefused as error:
        print(error.field, "was refused")
    await app.close()


asyncio.run(main())
