"""What became of a transaction whose commit was sent and never answered: found out, never guessed."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.errors import OutcomeUnknown, StoreError, StoreUnavailable
from backstay.runtime.env import Env
from backstay.stores.database.interface import Lane
from backstay.stores.database.postgres import Postgres

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Question:
    """Was the job completed under this epoch by this transaction?"""

    job_id: object
    epoch: int
    transaction_id: str


async def was_committed(question: Question, *, url: str, pooled: bool, env: Env) -> bool:
    """Ask the server until the transaction is decided; raises OutcomeUnknown if that cannot be learnt in 30 s."""
    give_up, pause = env.monotonic() + PATIENCE, 0.05
    while True:
        database = Postgres(url, pooled=pooled)
        try:
            decided = await _ask(question, database.lane("heartbeat"))
        except StoreUnavailable as error:
            decided = None
            if env.monotonic() > give_up:
                raise OutcomeUnknown("the completion", [question.job_id], because=error) from error
        finally:
            await database.close()
        if decided is not None:
            return decided
        if env.monotonic() > give_up:
            raise OutcomeUnknown("the completion", [question.job_id])
        await env.sleep(pause * (0.5 + env.random()))
        pause = min(pause * 2, 1.0)


async def _ask(question: Question, lane: Lane) -> bool | None:
    """True, False, or None while the server is still at it."""
    try:
        found = await lane.fetch("completing/status", transaction_id=question.transaction_id)
    except StoreUnavailable:
        raise
    except StoreError:
        # A server that never saw such a transaction, as after a failover: the job's row knows.
        status = None
    else:
        status = found[0]["status"]
    if status == "in progress":
        return None
    if status == "aborted":
        return False
    # A server that crashed before it had written a transaction down gives its number to another one, so "committed" may
    # be said of that. The job's row knows: the commit that is asked for has settled it.
    guard = {"job_id": question.job_id, "epoch": question.epoch}
    return bool(await lane.fetch_each("jobs/settled", [guard]))
