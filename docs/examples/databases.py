"""The tables of Windlass on PostgreSQL: made, and looked at. Takes its database from WINDLASS_URL."""

import asyncio

from windlass import SchemaMismatch, Windlass
from windlass.stores import migrate

app = Windlass()


async def main() -> None:
    database = app.connections.database

    try:
        await app.jobs.counts()
    except SchemaMismatch as error:
        print(error)

    for migration in await migrate.migrate(database):
        print(f"{migration.number:04} {migration.name}")
    print(await migrate.drift(database) or "the tables are as this release makes them")

    print(await app.jobs.counts())
    await app.close()


asyncio.run(main())
