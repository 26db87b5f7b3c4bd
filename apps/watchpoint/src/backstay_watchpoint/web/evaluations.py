"""What the evaluation worker tells over HTTP, with the token of machines."""

from typing import Annotated

from fastapi import APIRouter, Header
from pydantic import Field

from backstay.kit import StrictModel, not_found, problem_responses
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.services.evaluations import Evaluation, NoWatchpoint, note_evaluation
from backstay_watchpoint.web.access import check_token


class EvaluationBody(StrictModel):
    """One evaluation; subject and text are those of the mail, should the watchpoint trigger now."""

    watchpoint_id: str
    has_triggered: bool
    subject: str = Field(default="Weather alert", min_length=1, max_length=200)
    text: str = Field(default="", max_length=5000)


def add_evaluation_route(router: APIRouter, jobs: Jobs) -> None:
    """Add the route."""
    platform = jobs.platform

    @router.post("/evaluations", responses=problem_responses(401, 404, 422))
    async def evaluations(
        body: EvaluationBody, authorization: Annotated[str | None, Header()] = None
    ) -> dict[str, str | None]:
        """Store whether a watchpoint has triggered, and notify its organisation if that is new."""
        await check_token(platform, authorization)
        payload = {"subject": body.subject, "text": body.text or body.subject}
        found = Evaluation(body.watchpoint_id, body.has_triggered, payload)
        try:
            async with platform.database.transaction() as transaction:
                delivery_id = await note_evaluation(transaction, jobs.publisher, found, platform.clock())
        except NoWatchpoint:
            raise not_found() from None
        return {"delivery_id": delivery_id}
