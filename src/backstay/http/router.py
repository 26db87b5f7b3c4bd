"""How every group of operations is made: strict bodies, described errors, ids that generated clients can use."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from backstay.http.errors import ANSWERS
from backstay.kit.bodies import StrictRoute

IDEMPOTENCY_KEY = "Sent again with the same key, the request acts once and is answered twice."


def operation_id(route: APIRoute) -> str:
    """A stable name for an operation: its group and its function, `jobs_search`."""
    group = str(next(iter(route.tags), "api"))
    return f"{group}_{route.name}"


def operations(noun: str, *, prefix: str | None = None) -> APIRouter:
    """The operations of one noun, under its path."""
    return APIRouter(
        prefix=f"/{noun}" if prefix is None else prefix,
        tags=[noun],
        route_class=StrictRoute,
        responses=ANSWERS,
        generate_unique_id_function=operation_id,
    )
