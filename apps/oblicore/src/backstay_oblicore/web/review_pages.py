"""The review queue: what a program was not sure of, decided by a person with a reason."""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import Actor, check_form, not_found
from backstay_oblicore import deciding
from backstay_oblicore.domain.errors import AccessDenied, OblicoreError
from backstay_oblicore.domain.words import Frequency
from backstay_oblicore.services import Services
from backstay_oblicore.store import reviews
from backstay_oblicore.store.database import from_json
from backstay_oblicore.store.reviews import Changes
from backstay_oblicore.web.access import Access, user_of

FACTS = ("text", "reason", "error", "reference", "confidence", "page", "missing", "ocr_confidence")
CHOSEN = [one for one in Frequency if one not in deciding.NEEDS_RULE]


class Decision(BaseModel):
    """What a person says about a question."""

    decision: Literal["CONFIRMED", "REJECTED"]
    reason: str = Field(min_length=1, max_length=1000)
    summary: str | None = Field(default=None, max_length=500)
    frequency: Frequency | None = None
    first_due: date | None = None
    missing: str | None = Field(default=None, max_length=200)
    missing_date: date | None = None

    @property
    def changes(self) -> Changes:
        """What is corrected along with the answer."""
        named = self.missing and self.missing_date
        anchors = ((self.missing, self.missing_date),) if named else ()
        return Changes(self.summary, self.frequency, self.first_due, anchors)  # type: ignore[arg-type]  # both are set


def review_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the page and its form."""
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.get("/review-queue")
    async def review(request: Request, actor: reader, document_id: UUID | None = None) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            items = await reviews.pending(connection, document_id)
        for item in items:
            # Each reason for a question stores its own facts.
            item["original_data"] = dict.fromkeys(FACTS) | from_json(item["original_data"])
        return access.pages.render(
            request,
            "review.html",
            title="Review",
            items=items,
            frequencies=[(one.value, one.value.replace("_", " ").capitalize()) for one in CHOSEN],
        )

    @web.post("/review-queue/{item_id}")
    async def decide(request: Request, actor: writer, item_id: UUID) -> Response:
        form = await check_form(request, Decision)
        if form.value is None:
            said = "; ".join(f"{name}: {text}" for name, text in form.errors.items())
            return access.pages.redirect(request, "/review-queue", flash=f"Not decided. {said}", tone="bad")
        try:
            await deciding.answer(
                services,
                item_id,
                user=user_of(actor),
                confirmed=form.value.decision == "CONFIRMED",
                reason=form.value.reason,
                changes=form.value.changes,
            )
        except AccessDenied:
            raise not_found() from None
        except OblicoreError as error:
            return access.pages.redirect(request, "/review-queue", flash=str(error), tone="bad")
        return access.pages.redirect(request, "/review-queue", flash="Decided.", tone="good")
