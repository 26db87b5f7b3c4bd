"""Does the database have the tables of this release? Takes its database from BACKSTAY_URL."""

import asyncio
import sys

from backstay import Backstay
from backstay.errors import SchemaMismatch

app = Backstay()


async def main() -> None:
    try:
        await app.jobs.counts()
    except SchemaMismatch as error:
        sys.exit(str(error))
    finally:
        await app.close()
    print("ready")


asyncio.run(main())
