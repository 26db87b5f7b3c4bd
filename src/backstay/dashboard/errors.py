"""How errors of the client are answered: not found, not allowed, or a sentence that says what to do."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from backstay.errors import (
    BackstayError,
    DeadLetterChanged,
    FlowNotFound,
    Forbidden,
    JobNotFound,
    KeyTaken,
    NotFound,
    ScheduleNotFound,
    StoreBusy,
    StoreError,
    StoreUnavailable,
    WrongState,
)
from backstay.kit.guard import add_security_headers
from backstay.kit.page_errors import error_page, wants_page
from backstay.kit.pages import Pages
from backstay.kit.problems import Problem, not_found

API_PREFIX = "/api"


def install_client_errors(app: FastAPI, pages: Pages) -> None:
    """Answer every error of the client with a page, or with problem details for programs."""

    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, BackstayError)
        problem = problem_of_client(error)
        response = (
            error_page(request, pages, problem) if wants_page(request, API_PREFIX) else problem.response()
        )
        add_security_headers(response.headers, request.url.scheme)
        return response

    app.add_exception_handler(BackstayError, answer)


def problem_of_client(error: BackstayError) -> Problem:
    """Return the answer to an error of the client."""
    match error:
        case JobNotFound() | FlowNotFound() | ScheduleNotFound() | NotFound():
            return not_found()
        case Forbidden():
            return Problem(403, "not_allowed", f"{error}.", right=error.right)
        case WrongState() | DeadLetterChanged() | KeyTaken():
            return Problem(409, "conflict", f"{error}.")
        case StoreUnavailable() | StoreBusy():
            return Problem(503, "unavailable", "The database does not answer now; try again in a moment.")
        case StoreError():
            return Problem(500, "internal_error", f"The database refused: {error}.")
        case _:
            return Problem(400, "bad_request", f"{error}.")
