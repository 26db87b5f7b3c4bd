"""Every operation for every role and tenant, against a table written by hand."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
from http_operations import OPERATIONS, Row
from http_seeds import UNKNOWN, Seeds
from http_world import OTHER, TENANT, World

ROLES = ("viewer", "operator", "admin")
NAMES = itertools.count()


def described(world: World) -> dict[str, tuple[str, str]]:
    """Method and path of every operation in the OpenAPI document."""
    return {
        told["operationId"]: (method, path)
        for path, methods in world.site.openapi()["paths"].items()
        for method, told in methods.items()
    }


async def asked(
    caller: httpx.AsyncClient, method: str, path: str, row: Row, parts: dict[str, str]
) -> httpx.Response:
    """Send the request of a row."""
    body: Any = row.body
    if row.on == "free name":
        body = {**row.body, "name": f"made-{next(NAMES)}"}
    return await caller.request(method, path.format(**parts), json=body, params=dict(row.query))


def may(row: Row, role: str, tenant: str) -> bool:
    if row.scope == "everybody":
        return True
    if row.payloads and role != "admin":
        # Only the admins of these tests may see payloads.
        return False
    return ROLES.index(role) >= ROLES.index(row.role) and (row.scope == "own tenant" or tenant == "*")


async def seeded(world: World, *tenants: str) -> dict[str, Seeds]:
    seeds = {tenant: Seeds(world, tenant) for tenant in tenants}
    for each in seeds.values():
        await each.prepare()
    await world.run_all()
    return seeds


def test_every_operation_has_a_row_and_every_row_an_operation(quick_world: World) -> None:
    assert sorted(described(quick_world)) == sorted(OPERATIONS)


async def test_every_operation_is_allowed_and_refused_as_the_table_says(world: World) -> None:
    """ENG-129: each operation answers 2xx to the least role that may do it, 403 to less, 401 to nobody."""
    seeds = (await seeded(world, TENANT))[TENANT]
    wrong = []
    for operation, (method, path) in described(world).items():
        row = OPERATIONS[operation]
        # The least who may do it comes first: later ones may find that it is done.
        tenants = ("*",) if row.scope == "all tenants" else (TENANT, "*")
        least = f"{'admin' if row.payloads else row.role} {tenants[0]}"
        answer = await asked(world[least], method, path, row, await seeds.made(row.on))
        if not 200 <= answer.status_code < 300:
            wrong.append(f"{operation} answers {answer.status_code} to {least}: {answer.text[:200]}")
        parts = UNKNOWN.get(row.on, await seeds.made(row.on))
        for role, tenant in itertools.product(ROLES, (TENANT, "*")):
            answer = await asked(world[f"{role} {tenant}"], method, path, row, parts)
            if (answer.status_code == 403) is may(row, role, tenant) or answer.status_code in (401, 500):
                wrong.append(
                    f"{operation} answers {answer.status_code} to {role} {tenant}: {answer.text[:200]}"
                )
        answer = await asked(world.nobody, method, path, row, parts)
        if answer.status_code != (200 if row.scope == "everybody" else 401):
            wrong.append(f"{operation} answers {answer.status_code} to nobody")

    assert wrong == []


async def test_what_belongs_to_another_tenant_is_as_if_it_were_not_there(world: World) -> None:
    """ENG-108: no read and no write across tenants, and no answer that tells whether something exists."""
    seeds = (await seeded(world, TENANT))[TENANT]
    stranger = world[f"admin {OTHER}"]
    targets = {
        operation: await seeds.made(row.on) for operation, row in OPERATIONS.items() if row.on in UNKNOWN
    }
    before = await seeds.facts()

    wrong = []
    for operation, (method, path) in described(world).items():
        row = OPERATIONS[operation]
        if operation not in targets:
            answer = await asked(stranger, method, path, row, await seeds.made(row.on))
            if TENANT in answer.text and row.scope == "own tenant":
                wrong.append(f"{operation} names the other tenant: {answer.text[:200]}")
            continue
        foreign = await asked(stranger, method, path, row, targets[operation])
        unknown = await asked(stranger, method, path, row, UNKNOWN[row.on])
        if (foreign.status_code, foreign.text) != (unknown.status_code, unknown.text):
            wrong.append(f"{operation}: {foreign.status_code} {foreign.text[:150]} / {unknown.text[:150]}")

    assert wrong == []
    assert await seeds.facts() == before
