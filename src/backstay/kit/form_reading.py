"""Reading the form of a request, so that its uploaded files are closed when the request ends."""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import FormData
from starlette.types import Scope

FORMS = "backstay_forms"


async def read_form(request: Request) -> FormData:
    """Return the form of a request; Starlette keeps it, so everybody reads the same one."""
    form = await request.form()
    opened = request.scope.get(FORMS)
    if opened is not None and form not in opened:
        opened.append(form)
    return form


async def close_forms(scope: Scope) -> None:
    """Close the files of every form that was read in a request."""
    for form in scope[FORMS]:
        await form.close()
