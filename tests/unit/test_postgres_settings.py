"""Numbers of the connections to PostgreSQL that depend on each other."""

from __future__ import annotations

from backstay.stores.database.postgres import ENGINE_SETTINGS, PATIENCE


def test_who_waits_for_a_lock_is_told_so_before_its_connection_is_taken_for_dead() -> None:
    lock_timeout = float(ENGINE_SETTINGS["lock_timeout"].removesuffix("s"))

    assert min(PATIENCE.values()) > 2 * lock_timeout
