import asyncio

from jobs import app, send_welcome


async def main() -> None:
    ada = await send_welcome.enqueue(name="Ada", address="ada@example.org")
    bob = await send_welcome.enqueue(name="Bob", address="bob at example.org")
    print("stored", ada.id)
    print("stored", bob.id)
    await app.close()


asyncio.run(main())
