"""Errors of an API as RFC 9457 problem details, with a stable code that programs can rely on."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"

log = logging.getLogger("backstay.kit")

CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict",
    410: "gone",
    411: "length_required",
    413: "body_too_large",
    415: "unsupported_media_type",
    421: "unknown_host",
    422: "invalid_request",
    429: "too_many_requests",
    500: "internal_error",
    503: "unavailable",
}
NOT_FOUND_DETAIL = "There is nothing at this address, or it is not yours to see."


class Problem(HTTPException):
    """Ends a request with problem details.

    ```python
    raise Problem(409, "battery_withdrawn", "Battery 17 was withdrawn on 3 March; publish a new version instead.")
    ```

    `pointer` is the JSON pointer of the field that is wrong, `errors` several of them at once.
    """

    def __init__(
        self,
        status: int,
        code: str = "",
        detail: str = "",
        *,
        pointer: str | None = None,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(status, detail or title_of(status), dict(headers or {}))
        self.status = status
        self.code = code or CODES.get(status, "error")
        self.pointer = pointer
        self.errors = list(errors)
        self.more = more

    def body(self, instance: str = "") -> dict[str, Any]:
        """Return the members of the problem; empty ones are left out."""
        told = {
            "type": "about:blank",
            "title": title_of(self.status),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "pointer": self.pointer,
            "errors": self.errors or None,
            "instance": instance or None,
        }
        return {name: value for name, value in told.items() if value is not None} | self.more

    def response(self, instance: str = "") -> JSONResponse:
        """Return the response that carries the problem."""
        return JSONResponse(self.body(instance), self.status, headers=self.headers, media_type=MEDIA_TYPE)


def not_found() -> Problem:
    """The one answer for an id that is unknown and for an id of another tenant, so that nobody learns which."""
    return Problem(404, "not_found", NOT_FOUND_DETAIL)


class FieldProblem(BaseModel):
    """One field of a request that is wrong."""

    pointer: str = Field(description="JSON pointer into the body, or the name of a parameter")
    code: str = Field(examples=["missing"])
    detail: str = Field(examples=["Field required"])


class ProblemDetails(BaseModel):
    """An error as RFC 9457 describes it; `code` is stable, `detail` is for people."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    code: str = Field(examples=["not_found"])
    detail: str = Field(examples=[NOT_FOUND_DETAIL])
    pointer: str | None = None
    errors: list[FieldProblem] | None = None
    instance: str | None = None


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe error answers for OpenAPI: `@app.get(…, responses=problem_responses(401, 404))`."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    return {
        status: {
            "description": title_of(status),
            "model": ProblemDetails,
            "content": {MEDIA_TYPE: schema},
        }
        for status in statuses
    }


def problem_of(error: Exception) -> Problem:
    """Translate any error of a request into a problem; what we do not know is an internal error, untold."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            return _invalid(error.errors())
        case ValidationError():
            return _invalid(error.errors(include_url=False, include_context=False, include_input=False))
        case HTTPException(status_code=404):
            return Problem(404, "not_found", NOT_FOUND_DETAIL)
        case HTTPException():
            return Problem(error.status_code, "", str(error.detail), headers=error.headers)
        case _:
            return Problem(500, "internal_error", "Something went wrong on our side; it was recorded.")


def _invalid(found: Sequence[Any]) -> Problem:
    """Tell which fields are wrong and why, never what was sent: it may be private."""
    errors = [
        {"pointer": pointer_of(each["loc"]), "code": str(each["type"]), "detail": str(each["msg"])}
        for each in found
    ]
    if [each["code"] for each in errors] == ["json_invalid"]:
        return Problem(400, "invalid_json", "The body is not valid JSON.", pointer="")
    words = "1 field is" if len(errors) == 1 else f"{len(errors)} fields are"
    first = errors[0]["pointer"] if errors else None
    return Problem(422, "invalid_request", f"{words} not valid.", pointer=first, errors=errors)


def pointer_of(location: Sequence[str | int]) -> str:
    """Write where an error was found: a JSON pointer for a body, `query: limit` for a parameter."""
    place, *path = location or ("body",)
    if place in {"query", "path", "header", "cookie"}:
        return f"{place}: {'.'.join(str(part) for part in path)}"
    parts = path if place == "body" else [place, *path]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def install_problem_details(app: FastAPI) -> None:
    """Answer every error of `app` with problem details: for an API without pages."""

    async def answer(request: Request, error: Exception) -> Response:
        return problem_of(error).response()

    for kind in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def title_of(status: int) -> str:
    """Return the standard title of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
