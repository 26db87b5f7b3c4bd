"""Sites: where their duties are listed, and how their dates are reckoned."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from backstay.kit import Actor, Crumb, check_form, not_found
from backstay_oblicore.services import Services
from backstay_oblicore.store import people
from backstay_oblicore.store.database import Connection, acting_as
from backstay_oblicore.web.access import Access, user_of

REGULATORS = (
    ("EA", "Environment Agency (England)"),
    ("NRW", "Natural Resources Wales"),
    ("SEPA", "SEPA (Scotland)"),
    ("NIEA", "NIEA (Northern Ireland)"),
)


class SiteForm(BaseModel):
    """How the dates of a site are reckoned."""

    regulator: Literal["EA", "NRW", "SEPA", "NIEA"]
    working_days_only: bool = False


def site_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    manager = Annotated[Actor, Depends(access.auth.require("manage"))]

    @web.get("/sites/{site_id}/obligations")
    async def duties(request: Request, actor: reader, site_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            await _site(connection, site_id)
        return access.pages.redirect(request, f"/obligations?site={site_id}")

    @web.get("/sites/{site_id}")
    async def shown(request: Request, actor: manager, site_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            site = await _site(connection, site_id)
        crumbs = [Crumb("Home", "/"), Crumb(site["name"])]
        return access.pages.render(
            request, "site.html", title=site["name"], crumbs=crumbs, place=dict(site), regulators=REGULATORS
        )

    @web.post("/sites/{site_id}")
    async def change(request: Request, actor: manager, site_id: UUID) -> Response:
        form = await check_form(request, SiteForm)
        if form.value is None:
            raise not_found()
        user = user_of(actor)
        async with services.database.connection() as connection, connection.transaction():
            async with acting_as(connection, user):
                site = await _site(connection, site_id)
                if not site["may_manage"]:
                    raise not_found()
                await people.change_site(connection, site_id, user=user, **form.value.model_dump())
            await (
                services.handlers["MONITORING_SCHEDULE"]
                .options(tx=connection, tenant=str(site["company_id"]), unique=f"after a change at {site_id}")
                .enqueue(company_id=site["company_id"], site_id=site_id, force_recalculate=True)
            )
        return access.pages.redirect(
            request, f"/sites/{site_id}", flash="Saved; the dates are being reckoned.", tone="good"
        )


async def _site(connection: Connection, site: UUID) -> Any:
    row = await connection.fetchrow(
        "SELECT site.id, site.company_id, site.name, site.regulator, site.adjust_for_business_days,"
        " EXISTS (SELECT FROM oblicore.user_roles AS held WHERE held.company_id = site.company_id"
        " AND held.user_id = oblicore.current_user_id() AND held.role IN ('OWNER', 'ADMIN')) AS may_manage"
        " FROM oblicore.sites AS site WHERE site.id = $1 AND site.deleted_at IS NULL",
        site,
    )
    if row is None:
        raise not_found()
    return row
