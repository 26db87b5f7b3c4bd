"""What the client raises, as problem details with a stable code."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response

from backstay import errors
from backstay.kit.problems import Problem, install_problem_details, not_found, problem_responses

log = logging.getLogger("backstay.http")

STATUSES: Mapping[type[errors.BackstayError], tuple[int, str]] = {
    errors.Forbidden: (403, "not_allowed"),
    errors.InvalidCursor: (400, "cursor_invalid"),
    errors.InvalidPayload: (422, "invalid_payload"),
    errors.InvalidArguments: (422, "invalid_arguments"),
    errors.InvalidBatch: (422, "invalid_batch"),
    errors.InvalidFlow: (422, "invalid_flow"),
    errors.FieldRefused: (422, "field_refused"),
    errors.UnknownKind: (422, "unknown_kind"),
    errors.IdempotencyMismatch: (422, "idempotency_key_reused"),
    errors.SearchTooLong: (422, "search_too_long"),
    errors.QuotaExceeded: (429, "quota_exceeded"),
    errors.InvalidJob: (422, "invalid_job"),
    errors.InvalidSchedule: (422, "invalid_schedule"),
    errors.InvalidPolicy: (422, "invalid_policy"),
    errors.InvalidSettings: (422, "invalid_request"),
    errors.WrongState: (409, "wrong_state"),
    errors.DeadLetterChanged: (409, "dead_letter_changed"),
    errors.KeyTaken: (409, "key_taken"),
    errors.SignalRefused: (409, "signal_refused"),
    errors.JobDead: (409, "job_dead"),
    errors.JobCancelled: (409, "job_cancelled"),
    errors.JobFailed: (409, "job_failed"),
    errors.ResultTimeout: (409, "job_not_finished"),
    errors.StoreConflict: (409, "conflict"),
    errors.OutcomeUnknown: (503, "outcome_unknown"),
    errors.StoreUnavailable: (503, "database_unavailable"),
    errors.StoreBusy: (503, "database_busy"),
    errors.SchemaMismatch: (503, "database_out_of_date"),
}
"""Looked up along the class of an error: the nearest counts."""

NOT_FOUND = (errors.JobNotFound, errors.FlowNotFound, errors.ScheduleNotFound, errors.NotFound)
UNEXPECTED = (
    errors.AlreadySettled,
    errors.ArchiveFailed,
    errors.ClaimLost,
    errors.InvalidSignal,
    errors.InvalidStep,
    errors.ItemFailed,
    errors.MigrationFailed,
    errors.NoLoop,
    errors.SignalTimeout,
    errors.StoreError,
    errors.SyncOnLoop,
    errors.TransactionTooLong,
    errors.WrongDatabase,
)
"""What no request of a caller brings about: answered with 500 and logged, because a person must look."""

UNTOLD = frozenset({"outcome_unknown", "database_unavailable", "database_busy", "database_out_of_date"})
"""Errors of the database, whose text names addresses and statements: for the log, not for callers."""

TRY_AGAIN = "The database cannot do this now; try again in a moment."
RETRY_SECONDS = "5"
INTERNAL = 500

ANSWERS = problem_responses(400, 401, 403, 404, 405, 409, 413, 415, 421, 422, 429, 500, 503)
"""Every error that an operation may answer with, for OpenAPI."""


def problem_of(error: errors.BackstayError) -> Problem:
    """Translate an error of the client; what belongs to another tenant reads like what is not there."""
    if isinstance(error, NOT_FOUND):
        return not_found()
    status, code = next(
        (STATUSES[known] for known in type(error).__mro__ if known in STATUSES), (INTERNAL, "internal_error")
    )
    if status == INTERNAL:
        return Problem(INTERNAL, "internal_error", "Something went wrong on our side; it was recorded.")
    if code in UNTOLD:
        return Problem(status, code, TRY_AGAIN, headers={"Retry-After": RETRY_SECONDS})
    return Problem(status, code, _sentence(str(error)), **_places(error))


def _places(error: errors.BackstayError) -> dict[str, Any]:
    match error:
        case errors.Forbidden():
            return {"right": error.right}
        case errors.InvalidPayload():
            return {"pointer": error.pointer}
        case errors.InvalidArguments() if error.field:
            return {"field": error.field}
        case errors.InvalidBatch():
            found = [
                {"pointer": f"/jobs/{at}", "code": "invalid_job", "detail": problem}
                for at, problem in error.problems.items()
            ]
            return {"errors": found, "total": error.total}
        case errors.QuotaExceeded():
            return {"headers": {"Retry-After": RETRY_SECONDS}, "most": error.most}
        case errors.WrongState():
            return {"state": str(error.state), "needs": [str(state) for state in error.needs]}
        case errors.DeadLetterChanged():
            return {"letter_status": error.status}
        case _:
            return {}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def install_errors(api: FastAPI) -> None:
    """Answer every error of the API with problem details."""
    install_problem_details(api)

    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.BackstayError)
        problem = problem_of(error)
        if problem.status == INTERNAL:
            log.error("%s %s failed unexpectedly", request.method, request.url.path, exc_info=error)
        return problem.response()

    api.add_exception_handler(errors.BackstayError, answer)
