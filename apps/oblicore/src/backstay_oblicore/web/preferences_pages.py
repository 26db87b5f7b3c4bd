"""Preferences: what somebody wants to be told by mail and text message, and when to be left alone."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import Actor, CheckedForm, blank_form, check_form, not_found
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.preferences import TOPICS, Preferences
from backstay_oblicore.domain.words import AlertType
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications
from backstay_oblicore.web.access import Access, rights_of, token_for, user_of


class Choices(BaseModel):
    """What the form sends: the topics wanted by mail, text messages, quiet hours."""

    topics: list[AlertType] = Field(default_factory=list)
    text_messages: bool = False
    quiet_from: int | None = Field(default=None, ge=0, le=23)
    quiet_until: int | None = Field(default=None, ge=0, le=23)


class TokenForm(BaseModel):
    """For how long a program may act for somebody."""

    days: int = Field(default=30, ge=1, le=365)


def preferences_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the page and its form."""
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/preferences")
    async def preferences(request: Request, actor: reader) -> Response:
        return await _shown(request, actor, services, access, blank_form())

    @web.post("/preferences")
    async def choose(request: Request, actor: reader) -> Response:
        form = await check_form(request, Choices)
        if form.value is not None:
            given = form.value
            try:
                chosen = Preferences(
                    frozenset(TOPICS) - frozenset(given.topics),
                    given.text_messages,
                    given.quiet_from,
                    given.quiet_until,
                )
            except OblicoreError as error:
                form = form.with_error("quiet_from", str(error))
            else:
                async with services.database.as_user(user_of(actor)) as connection:
                    await notifications.save_preferences(connection, user_of(actor), chosen)
        if form.value is None:
            return await _shown(request, actor, services, access, form)
        return access.pages.redirect(request, "/preferences", flash="Saved.", tone="good")

    @web.post("/preferences/token")
    async def make_token(request: Request, actor: reader) -> Response:
        form = await check_form(request, TokenForm)
        if form.value is None:
            return await _shown(request, actor, services, access, form)
        user = user_of(actor)
        async with services.database.as_service() as connection:
            roles = await rights_of(connection, user)
        token = token_for(services.settings.secret, user, roles, hours=24 * form.value.days)
        return await _shown(request, actor, services, access, form, token)


async def _shown(
    request: Request,
    actor: Actor,
    services: Services,
    access: Access,
    form: CheckedForm[Any],
    token: str = "",
) -> Response:
    user = user_of(actor)
    async with services.database.as_user(user) as connection:
        chosen = (await notifications.preferences_of(connection, [user])).get(user)
        row = await connection.fetchrow("SELECT email, phone FROM oblicore.users WHERE id = $1", user)
    if chosen is None:
        raise not_found()
    hours = [(str(hour), f"{hour:02d}:00") for hour in range(24)]
    return access.pages.render(
        request,
        "preferences.html",
        title="What you are told",
        chosen=chosen,
        topics=TOPICS.items(),
        person=row,
        hours=hours,
        form=form,
        token=token,
        status=422 if form.errors else 200,
    )
