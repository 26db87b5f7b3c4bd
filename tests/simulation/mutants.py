"""Mistakes that somebody could make, each planted for a run; a simulation that misses one proves little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from windlass import settlement
from windlass.errors import StoreUnavailable
from windlass.stores.queries import Dialect, _source

Mutate = Callable[[Dialect], None]


@dataclass(frozen=True)
class Mutant:
    """One mistake: a query with another text, or a function in the place of one."""

    name: str
    query: str = ""
    old: str = ""
    new: str = ""
    target: str = ""
    function: Any = None

    @contextmanager
    def planted(self) -> Iterator[Mutate | None]:
        """The mistake, for as long as the block lasts."""
        if self.query:
            yield self._rewrite
            return
        with patch(self.target, self.function):
            yield None

    def _rewrite(self, dialect: Dialect) -> None:
        text = _source(dialect.name, self.query)
        assert text.count(self.old) == 1, f"{self.name}: {self.query} has changed, and so must this mutant"
        dialect._statements[self.query] = dialect._prepare(self.query, text.replace(self.old, self.new))


def _trusting(*_: object, **__: object) -> None:
    """Find no reason to distrust a clock."""


def _count_every_crash(claim: Any, outcome: Any, policy: Any, **facts: Any) -> Any:
    return _after_crash(claim._replace(is_suspect=True), outcome, policy, **facts)


_after_crash = settlement._after_crash


async def _give_up_at_once(act: Any, **_: Any) -> Any:
    """Take a lost reply for a failure."""
    try:
        return await act()
    except StoreUnavailable as error:
        raise StoreUnavailable(str(error), was_sent=False) from error


MUTANTS = (
    Mutant("settle without the epoch", "jobs/settle", "\n  AND job.lease_epoch = given.epoch", ""),
    Mutant("complete without the epoch", "jobs/complete", "\n  AND lease_epoch = given.epoch", ""),
    Mutant(
        "claim that raises no epoch",
        "jobs/claim",
        "lease_epoch = job.lease_epoch + 1",
        "lease_epoch = job.lease_epoch",
    ),
    Mutant(
        "claim of many suspects",
        "jobs/claim",
        "LIMIT :suspects\n    )\n    LIMIT :suspects",
        "LIMIT :limit\n    )\n    LIMIT :limit",
    ),
    Mutant("take-over that raises no epoch", "jobs/seize", "job.lease_epoch + 2", "job.lease_epoch"),
    Mutant(
        "rescue without looking at the lease",
        "jobs/expired",
        "    lease_expires_at < clock.at\n    OR",
        "    TRUE\n    OR",
    ),
    Mutant(
        "rescue that trusts every clock",
        target="windlass.maintenance.rescuer.why_distrust",
        function=_trusting,
    ),
    Mutant("promotion a second too early", "jobs/promote", "run_at <= {now}", "run_at <= {now} + 1000000"),
    Mutant(
        "promotion of all but the last",
        "jobs/promote",
        "AND run_at <= {now}",
        "AND run_at <= {now}\n      AND id < (SELECT max(id) FROM windlass.jobs WHERE state = 'scheduled')",
    ),
    Mutant(
        "refund given twice",
        "jobs/settle",
        "job.attempt - given.refund",
        "max(job.attempt - 2 * given.refund, 0)",
    ),
    Mutant("refund never given", "jobs/settle", "job.attempt - given.refund", "job.attempt"),
    Mutant(
        "retry in spite of a cancel", "jobs/honour_cancel", "job.cancel_requested_at IS NOT NULL", "FALSE"
    ),
    Mutant("death without a letter", "dead_letters/record", "WHERE TRUE", "WHERE FALSE"),
    Mutant(
        "crash counted against everybody",
        target="windlass.settlement._after_crash",
        function=_count_every_crash,
    ),
    Mutant(
        "lost reply taken for a failure",
        target="windlass.client.client.until_certain",
        function=_give_up_at_once,
    ),
)
