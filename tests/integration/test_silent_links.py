"""Connections to PostgreSQL whose other side may go without a sign."""

from __future__ import annotations

import os
import socket

from backstay.stores.database.postgres import KEPT_ALIVE, Postgres
from backstay.testing import PrivatePostgres


async def test_both_systems_are_told_to_end_a_connection_whose_other_side_is_gone(
    postgres_server: PrivatePostgres,
) -> None:
    driver = await Postgres(postgres_server.url("postgres")).connect()
    told = {name: await driver.fetchval("SELECT current_setting($1)", name) for name in KEPT_ALIVE}
    link = driver._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # asyncpg has no name for it
    with socket.socket(fileno=os.dup(link.fileno())) as ours:
        asked = ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle, unheard = (
            ours.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_USER_TIMEOUT)
        )
    await driver.close()

    assert told == KEPT_ALIVE
    assert (asked, idle, unheard) == (1, 10, 25_000)
