"""Errors of an application with pages: a page for people, problem details for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from backstay.kit.guard import add_security_headers
from backstay.kit.problems import Problem, problem_of, title_of

if TYPE_CHECKING:
    from backstay.kit.pages import Pages

ADVICE = {
    403: "Ask somebody who may to give you the right, or log in as somebody else.",
    404: "Look whether the address is complete, or go back to the first page.",
    413: "Send a smaller file.",
    429: "Wait a little, then try again.",
    500: "Try again; if it stays so, tell the people who run this.",
}


def install_error_answers(app: FastAPI, pages: Pages, api_prefix: str) -> None:
    """Answer errors below `api_prefix`, and to programs, with problem details, else with a page."""

    async def answer(request: Request, error: Exception) -> Response:
        response = _answer(request, pages, problem_of(error), api_prefix)
        # An answer to an unexpected error does not pass the guard on its way out.
        add_security_headers(response.headers, request.url.scheme)
        return response

    for kind in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _answer(request: Request, pages: Pages, problem: Problem, api_prefix: str) -> Response:
    if not wants_page(request, api_prefix):
        return problem.response()
    if problem.status == 401 and problem.code == "not_authenticated":
        return _to_login(request, pages)
    return error_page(request, pages, problem)


def wants_page(request: Request, api_prefix: str) -> bool:
    """Return True for a browser outside of the API."""
    root = request.scope.get("root_path", "")
    path = request.url.path.removeprefix(root)
    in_api = path == api_prefix or path.startswith(api_prefix.rstrip("/") + "/")
    return not in_api and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, pages: Pages, problem: Problem) -> Response:
    """Show a problem as a page."""
    response = pages.render(
        request,
        "kit/error.html",
        title=title_of(problem.status),
        status=problem.status,
        problem=problem,
        advice=ADVICE.get(problem.status, ""),
    )
    response.headers.update(problem.headers or {})
    return response


def _to_login(request: Request, pages: Pages) -> Response:
    root = request.scope.get("root_path", "")
    back = request.url.path.removeprefix(root)
    if request.url.query:
        back += f"?{request.url.query}"
    after = quote(back if request.method == "GET" else pages.home, safe="")
    return RedirectResponse(f"{root}{pages.login_path}?next={after}", 303)
