"""Erasing, profiles and an application's counters, ready to be cut."""

from __future__ import annotations

from typing import Any

from backstay.model.job import JobId
from backstay.model.policy.told_profile import ToldProfile
from backstay.stores.contract.erasing import Erasure
from backstay.testing.contract.support import DAY, Store
from chaos.operations import Operation, nothing

CLINIC = ToldProfile(
    name="clinic",
    priorities={"first": "low", "names": {"urgent": 1}, "numbers": {}},
    tenant_alias="practice_id",
    words={("available", ""): "QUEUED"},
    lanes={"quick": (), "slow": ("report",)},
    categories={"labs": ()},
    kinds=frozenset({"report"}),
)


async def ended_jobs(store: Store) -> list[JobId]:
    jobs = []
    for _ in range(2):
        claim = await store.claimed()
        await store.complete(claim)
        jobs.append(claim.id)
    return jobs


async def resolved_job(store: Store) -> JobId:
    job = await store.dead()
    await store.stores.dead_letters.resolve(job, actor="ann", reason="known", ignored=False, version=None)
    return job


async def left_letter(store: Store) -> None:
    await store.stores.erasing.remove([await resolved_job(store)], ERASURE)
    store.later(DAY)


async def told(store: Store) -> None:
    await store.stores.profiles.tell(CLINIC)


async def note(store: Store, _: Any) -> None:
    await store.stores.erasing.note(ERASURE, jobs=1)


ERASURE = Erasure(tenant="", actor="ann", reason="asked")
LEFT = {"tenant": None, "kind": "report", "field": None, "value": None}

ERASING = (
    Operation("erasing.remove", ended_jobs, lambda s, jobs: s.stores.erasing.remove(jobs, ERASURE)),
    Operation("erasing.remove_left", left_letter, lambda s, _: s.stores.erasing.remove_left(ERASURE, **LEFT)),
    Operation("erasing.note", nothing, note, is_repeated=False),
    Operation(
        "upkeep.forget_letters", left_letter, lambda s, _: s.stores.upkeep.forget_letters(keep=DAY / 2)
    ),
    Operation("dead_letters.arguments", resolved_job, lambda s, job: s.stores.dead_letters.arguments(job)),
    Operation("profiles.tell", nothing, lambda s, _: s.stores.profiles.tell(CLINIC)),
    Operation("profiles.known", told, lambda s, _: s.stores.profiles.known("clinic")),
    Operation("queues.depth", nothing, lambda s, _: s.stores.queues.depth("default", 9)),
    Operation("figures.count", nothing, lambda s, _: s.stores.figures.count("pages", 3), is_repeated=False),
    Operation("figures.counters", nothing, lambda s, _: s.stores.figures.counters()),
)
