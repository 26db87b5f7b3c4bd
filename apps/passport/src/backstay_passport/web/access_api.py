"""The HTTP API: tokens of partners and what they looked at, keys of programs."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI

from backstay.kit import Actor, Authentication, StrictRoute
from backstay_passport.actions import people
from backstay_passport.services import Services
from backstay_passport.store import access
from backstay_passport.web.bodies import NewKey, NewToken
from backstay_passport.web.routing import ANSWERS, PREFIX
from backstay_passport.web.rows import plain_row


def install(app: FastAPI, services: Services, auth: Authentication) -> None:
    """Add the routes about access."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    admin = Annotated[Actor, Depends(auth.require("access.manage"))]
    api = APIRouter(prefix=PREFIX, route_class=StrictRoute, responses=ANSWERS, tags=["access"])
    _tokens(api, services, reader, writer)
    _keys(api, services, admin)
    app.include_router(api)


def _tokens(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/tokens", status_code=201)
    def add(actor: writer, body: NewToken) -> dict[str, Any]:
        """Make a token for a partner; it is shown only now."""
        token_id, text = people.new_token(
            services, actor.tenant, body.name, body.audience, days=body.days, actor=actor.name
        )
        return {"id": token_id, "token": text}

    @api.get("/tokens")
    def listed(actor: reader) -> list[dict[str, Any]]:
        """List the tokens of partners, without the tokens themselves."""
        with services.database.read() as connection:
            return [plain_row(row) for row in access.all_tokens(connection, actor.tenant)]

    @api.delete("/tokens/{token_id}", status_code=204, response_model=None)
    def revoke(actor: writer, token_id: UUID) -> None:
        """Let a token open nothing any more."""
        people.revoke_token(services, actor.tenant, str(token_id), actor.name)

    @api.get("/access-log")
    def log(actor: reader) -> list[dict[str, Any]]:
        """List who has looked at which passport, newest first."""
        with services.database.read() as connection:
            return [plain_row(row) for row in access.looks(connection, actor.tenant)]


def _keys(api: APIRouter, services: Services, admin: Any) -> None:
    @api.post("/keys", status_code=201)
    def add(actor: admin, body: NewKey) -> dict[str, Any]:
        """Make a key for a program; it is shown only now."""
        return {"key": people.new_key(services, actor.tenant, body.name, body.role, actor.name)}

    @api.get("/keys")
    def listed(actor: admin) -> list[dict[str, Any]]:
        """List the keys of programs, without the keys themselves."""
        with services.database.read() as connection:
            return [plain_row(row) for row in access.all_api_keys(connection, actor.tenant)]

    @api.delete("/keys/{key_id}", status_code=204, response_model=None)
    def revoke(actor: admin, key_id: UUID) -> None:
        """Let a key open nothing any more."""
        people.revoke_key(services, actor.tenant, str(key_id), actor.name)
