"""`remind`: turns a reminder into a letter, exactly once."""

from __future__ import annotations

from datetime import date

from backstay import Context, Hopeless
from backstay_example.domain.letters import NobodyToRemind, Reminder, letter
from backstay_example.store import letters


async def remind(ctx: Context, name: str, subject: str, due: date) -> None:
    """Decide in the domain, then write the letter and complete the job together."""
    try:
        text = letter(Reminder(name, subject, due), today=ctx.now.date())
    except NobodyToRemind as error:
        raise Hopeless(str(error)) from error
    async with ctx.transaction() as tx:
        await letters.add(tx, text)
