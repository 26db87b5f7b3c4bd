"""The console's page of partners: their tokens, and what they looked at."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from backstay.kit import Pages
from backstay_passport.actions import people
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.services import Services
from backstay_passport.store import access
from backstay_passport.store.database import now_text

PAGE = "/console/partners"
Text = Annotated[str, Form(max_length=200)]


def install(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    """Add the page of partners."""

    @web.get("/partners", response_model=None)
    def partners(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            tokens = access.all_tokens(connection, actor.tenant)
            looks = access.looks(connection, actor.tenant)
        return pages.render(
            request,
            "partners.html",
            title="Partners",
            tokens=[_token(dict(row)) for row in tokens],
            looks=[{**row, "when": datetime.fromisoformat(row["created_at"])} for row in looks],
        )

    @web.post("/partners", response_model=None)
    def add(
        request: Request, actor: writer, name: Text = "", audience: Text = "", days: Text = ""
    ) -> Response:
        try:
            if not name.strip():
                raise InvalidInput("say whose token it is")
            lasting = _days(days)
            _, text = people.new_token(
                services, actor.tenant, name.strip(), audience, days=lasting, actor=actor.name
            )
        except PassportError as error:
            return pages.redirect(request, PAGE, flash=error.message, tone="bad")
        return pages.redirect(request, PAGE, flash=f"The token, shown only now: {text}", tone="warn")

    @web.post("/partners/{token_id}/revoke", response_model=None)
    def revoke(request: Request, actor: writer, token_id: str) -> Response:
        people.revoke_token(services, actor.tenant, token_id, actor.name)
        return pages.redirect(request, PAGE, flash="It opens nothing any more.")


def _days(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text) > 6:
        raise InvalidInput(f"{text!r} is not a number of days")
    return int(text)


def _token(row: dict[str, Any]) -> dict[str, Any]:
    ends = row["expires_at"]
    state = "revoked" if row["revoked_at"] else "ended" if ends and ends <= now_text() else "open"
    return {
        **row,
        "state": state,
        "made": datetime.fromisoformat(row["created_at"]),
        "ends": None if ends is None else datetime.fromisoformat(ends),
    }
