"""Does the database have the tables of this release? Takes its database from WINDLASS_URL."""

import asyncio
import sys

from windlass import SchemaMismatch, Windlass

app = Windlass()


async def main() -> None:
    try:
        await app.jobs.counts()
    except SchemaMismatch as error:
        sys.exit(str(error))
    finally:
        await app.close()
    print("ready")


asyncio.run(main())
