"""What all routes of the API share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backstay.kit import problem_responses

PREFIX = "/api/v1"
ANSWERS = problem_responses(401, 403, 404, 409, 422)

Limit = Annotated[int, Query(ge=1, le=500)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]
