"""Modules: what a suggestion leads to, and where an owner turns a module on."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.kit import Actor, Crumb, not_found
from backstay_oblicore.services import Services
from backstay_oblicore.store import audit
from backstay_oblicore.store.database import Connection
from backstay_oblicore.web.access import Access, user_of

COMPANIES = """
    SELECT company.id, company.name,
           EXISTS (
               SELECT FROM oblicore.module_activations AS held
               WHERE held.company_id = company.id AND held.module_id = $2 AND held.status = 'ACTIVE'
           ) AS is_active
    FROM oblicore.companies AS company
    JOIN oblicore.user_roles AS held ON held.company_id = company.id AND held.user_id = $1
    WHERE held.role IN ('OWNER', 'ADMIN') AND company.deleted_at IS NULL
    GROUP BY company.id, company.name ORDER BY company.name, company.id
"""
ACTIVATE = """
    INSERT INTO oblicore.module_activations (company_id, module_id) VALUES ($1, $2)
    ON CONFLICT (company_id, module_id) DO UPDATE SET status = 'ACTIVE'
"""
CONVERT = """
    UPDATE oblicore.cross_sell_triggers SET status = 'CONVERTED'
    WHERE company_id = $1 AND target_module_id = $2 AND status = 'PENDING'
"""


def module_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the page and its form."""
    manager = Annotated[Actor, Depends(access.auth.require("manage"))]

    @web.get("/modules/activate/{module_id}")
    async def shown(request: Request, actor: manager, module_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            module = await _module(connection, module_id)
            companies = await connection.fetch(COMPANIES, user_of(actor), module_id)
        return access.pages.render(
            request,
            "module.html",
            title=module["module_name"],
            crumbs=[Crumb("Modules"), Crumb(module["module_name"])],
            module=module,
            companies=[dict(row) for row in companies],
        )

    @web.post("/modules/activate/{module_id}")
    async def activate(request: Request, actor: manager, module_id: UUID) -> Response:
        form = await request.form()
        user = user_of(actor)
        async with services.database.as_user(user) as connection:
            module = await _module(connection, module_id)
            held = {str(row["id"]) for row in await connection.fetch(COMPANIES, user, module_id)}
            company = str(form.get("company_id"))
            if company not in held:
                raise not_found()
            await connection.execute(ACTIVATE, UUID(company), module_id)
            await connection.execute(CONVERT, UUID(company), module_id)
            await audit.write(
                connection,
                "MODULE_ACTIVATED",
                entity_type="MODULE",
                entity_id=module_id,
                company=UUID(company),
                user=user,
                new={"module_code": module["module_code"]},
            )
        name = module["module_name"]
        return access.pages.redirect(request, "/", flash=f"{name} is on.", tone="good")


async def _module(connection: Connection, module: UUID) -> Any:
    row = await connection.fetchrow(
        "SELECT id, module_code, module_name FROM oblicore.modules WHERE id = $1 AND is_active", module
    )
    if row is None:
        raise not_found()
    return row
