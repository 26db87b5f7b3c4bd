"""Transactions that we opened ourselves, for a handler that ends its job in one."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.stores.caller_transaction.sessions import Opener, Session


@dataclass(frozen=True, slots=True)
class OwnTransaction:
    """A transaction in the very database that jobs are stored in."""

    session: Session
    is_sync: bool


def recognise(transaction: object) -> Opener | None:
    """The way in, if this is one of our own."""
    if not isinstance(transaction, OwnTransaction):
        return None
    session = transaction.session

    async def opened() -> Session:
        return session

    return Opener(is_sync=transaction.is_sync, open=opened, is_ours=True)
