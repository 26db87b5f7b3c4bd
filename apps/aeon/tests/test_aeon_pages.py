"""Every page at every stage of what it shows; how they look is seen in the browser's tests."""

from __future__ import annotations

import httpx
import pytest
from aeon_world import World
from test_aeon_imports import BAD, STRANGE, define, text

from backstay_aeon.actions import imports, submit
from backstay_aeon.store import people


@pytest.mark.parametrize("content", [STRANGE.encode(), text(",", BAD).encode()], ids=["strange", "bad rows"])
async def test_an_import_is_shown_at_every_stage(
    world: World, api: httpx.AsyncClient, content: bytes
) -> None:
    """AEO-025: before anything was read, while it waits, after the dry run, failed, completed and undone."""
    await define(world)
    made = await imports.begin(
        world.services, world.team, world.user, name="a.csv", content=content, dataset="customers"
    )
    seen = [(await api.get(f"/imports/{made}")).text]
    for dry_run in (True, False):
        await imports.start(world.services, world.team, world.user, made, dry_run=dry_run)
        seen.append((await api.get(f"/imports/{made}")).text)
        await world.backstay.drain()
        seen.append((await api.get(f"/imports/{made}")).text)
    assert "The file was not read yet." in seen[0]
    if content == STRANGE.encode():
        assert "Try it out with these columns" in seen[2]
        assert "say which one it is in the mapping" in seen[4]
    else:
        assert "Import it" in seen[2]
        assert "Take the workbook" in seen[4]
    key = await people.add_key(world.database, world.other, None, "other")
    foreign = await api.get(f"/imports/{made}", headers={"Authorization": f"Bearer {key}"})
    assert foreign.status_code == 404


@pytest.mark.parametrize(
    ("kind", "shown", "hidden"),
    [
        ("waiting for its turn", ["Pause", "Cancel", "Why it waits"], ["Run it again"]),
        ("paused", ["Resume", "Cancel"], ["Pause", "Run it again"]),
        ("completed", [], ["Pause", "Cancel", "Run it again"]),
        ("dead", ["Run it again", "I look into it", "Resolve", "Ignore"], ["Pause", "Cancel"]),
    ],
)
async def test_a_job_offers_what_can_be_done_with_it(
    world: World, api: httpx.AsyncClient, kind: str, shown: list[str], hidden: list[str]
) -> None:
    """AEO-010, AEO-021: buttons by the state of the job, and none for those who may only look."""
    given = (
        {"job_type": "failing", "payload": {"as": "not_found"}} if kind == "dead" else {"job_type": "quick"}
    )
    made = (await submit.create(world.services, world.team, world.user, given))["job_id"]
    if kind == "paused":
        await api.post(f"/api/jobs/{made}/pause")
    elif kind != "waiting for its turn":
        await world.backstay.drain()
    page = (await api.get(f"/jobs/{made}")).text
    assert [word for word in shown if f">{word}<" not in page] == []
    assert [word for word in hidden if f">{word}<" in page] == []

    viewer = await people.add_key(world.database, world.team, world.user, "viewer", "viewer")
    looked = (await api.get(f"/jobs/{made}", headers={"Authorization": f"Bearer {viewer}"})).text
    assert not any(f">{word}<" in looked for word in ("Pause", "Resume", "Cancel", "Run it again"))


async def test_empty_pages_say_so(world: World, api: httpx.AsyncClient) -> None:
    """AEO-031: a team that has done nothing sees what it could do."""
    for path, told in (
        ("/", "No dead letters."),
        ("/imports", "Nothing was imported yet."),
        ("/files", "No file was sent yet."),
        ("/reports", "No report yet."),
        ("/schedules", "Nothing is scheduled."),
        ("/jobs", "No job yet."),
        ("/dead-letters", "No dead letters."),
    ):
        answer = await api.get(path)
        assert (answer.status_code, told in answer.text) == (200, True), path
