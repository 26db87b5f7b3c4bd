import asyncio

from jobs import app

from windlass.stores.migrate import migrate


async def main() -> None:
    for migration in await migrate(app.connections.database):
        print(migration.number, migration.name)
    await app.close()


asyncio.run(main())
