"""The HTTP API: models, single batteries, their lives, and versions for all of them."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI

from backstay.kit import Actor, Authentication, StrictRoute
from backstay_passport.actions import batteries as actions
from backstay_passport.actions import passports as passport_actions
from backstay_passport.domain.battery import read_status
from backstay_passport.services import Services
from backstay_passport.store import batteries
from backstay_passport.web.bodies import CompileModel, NewLife, NewProduct, NewUnit, UnitChange
from backstay_passport.web.routing import ANSWERS, PREFIX, Limit, Offset
from backstay_passport.web.rows import plain_row


def install(app: FastAPI, services: Services, auth: Authentication) -> None:
    """Add the routes about batteries."""
    reader = Annotated[Actor, Depends(auth.require("passports.read"))]
    writer = Annotated[Actor, Depends(auth.require("passports.write"))]
    api = APIRouter(prefix=PREFIX, route_class=StrictRoute, responses=ANSWERS, tags=["batteries"])
    _products(api, services, reader, writer)
    _units(api, services, reader, writer)
    app.include_router(api)


def _products(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.post("/products", status_code=201)
    def add_product(actor: writer, body: NewProduct) -> dict[str, Any]:
        """Add a battery model."""
        made = actions.add_product(
            services,
            actor.tenant,
            sku=body.sku,
            gtin=body.gtin,
            name=body.name or body.sku,
            actor=actor.name,
        )
        return {"id": made}

    @api.get("/products")
    def list_products(actor: reader) -> list[dict[str, Any]]:
        """List the battery models."""
        with services.database.read() as connection:
            return [plain_row(row) for row in batteries.products(connection, actor.tenant)]

    @api.post("/products/{product_id}/compile", status_code=202)
    def compile_model(actor: writer, product_id: UUID, body: CompileModel) -> dict[str, Any]:
        """Ask for a version of the model's own passport, or with `batteries` for one of each of its batteries."""
        snapshot_id, rules_id = passport_actions.inputs(
            services,
            actor.tenant,
            None if body.snapshot_id is None else str(body.snapshot_id),
            None if body.rule_package_version_id is None else str(body.rule_package_version_id),
        )
        asked = passport_actions.compile_model(
            services,
            actor.tenant,
            str(product_id),
            snapshot_id=snapshot_id,
            rules_id=rules_id,
            batteries_too=body.batteries,
            actor=actor.name,
        )
        listed = [
            {"unit_id": one.unit_id, "passport_id": one.passport_id, "job_id": one.job_id} for one in asked
        ]
        return {"requested": listed}

    @api.post("/products/{product_id}/units", status_code=201)
    def add_unit(actor: writer, product_id: UUID, body: NewUnit) -> dict[str, Any]:
        """Add a single battery."""
        data = {**body.data, "serial": body.serial}
        return {"id": actions.add_unit(services, actor.tenant, str(product_id), data, actor.name)}

    @api.get("/products/{product_id}/units")
    def list_units(
        actor: reader, product_id: UUID, limit: Limit = 500, offset: Offset = 0
    ) -> list[dict[str, Any]]:
        """List the batteries of a model, a page at a time."""
        with services.database.read() as connection:
            batteries.product(connection, actor.tenant, str(product_id))
            rows = batteries.page_of_units(
                connection, actor.tenant, limit=limit, offset=offset, product_id=str(product_id)
            )
            return [plain_row(row) for row in rows]


def _units(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    @api.get("/units/{unit_id}")
    def show(actor: reader, unit_id: UUID) -> dict[str, Any]:
        """Show a battery, what it was before, and what it has become."""
        with services.database.read() as connection:
            lives = batteries.lineage(connection, actor.tenant, str(unit_id))
            successor = batteries.successor(connection, actor.tenant, str(unit_id))
        earlier = [{name: one[name] for name in ("id", "gtin", "serial", "status")} for one in lives[1:]]
        return {
            **plain_row(lives[0]),
            "earlier_lives": earlier,
            "successor_id": None if successor is None else successor["id"],
        }

    @api.patch("/units/{unit_id}")
    def change_unit(actor: writer, unit_id: UUID, body: UnitChange) -> dict[str, Any]:
        """Write down what is new about a battery."""
        actions.change_unit(services, actor.tenant, str(unit_id), body.data, actor.name)
        with services.database.read() as connection:
            return plain_row(batteries.unit(connection, actor.tenant, str(unit_id)))

    @api.post("/units/{unit_id}/lives", status_code=201)
    def new_life(actor: writer, unit_id: UUID, body: NewLife) -> dict[str, Any]:
        """Begin the new life of a battery under a new serial number; the passport of the old one ends."""
        made = actions.begin_new_life(
            services,
            actor.tenant,
            str(unit_id),
            status=read_status(body.status),
            serial=body.serial,
            data=body.data,
            actor=actor.name,
        )
        return {"id": made, "predecessor_id": str(unit_id)}
