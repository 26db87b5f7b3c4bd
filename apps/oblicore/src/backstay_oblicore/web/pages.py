"""The pages people use; each reads with the rights of whoever looks."""

from typing import Annotated

from fastapi import APIRouter, Depends

from backstay.kit import Actor
from backstay_oblicore.services import Services
from backstay_oblicore.web.access import Access
from backstay_oblicore.web.aer_pages import aer_pages
from backstay_oblicore.web.calendar_pages import calendar_pages
from backstay_oblicore.web.document_pages import document_pages
from backstay_oblicore.web.import_pages import import_pages
from backstay_oblicore.web.list_pages import home_pages, simple_pages
from backstay_oblicore.web.measured_pages import measured_pages
from backstay_oblicore.web.module_pages import module_pages
from backstay_oblicore.web.operations_pages import operations_pages
from backstay_oblicore.web.pack_pages import pack_pages
from backstay_oblicore.web.preferences_pages import preferences_pages
from backstay_oblicore.web.public_pages import public_pages
from backstay_oblicore.web.record_pages import record_pages
from backstay_oblicore.web.register_pages import register_pages
from backstay_oblicore.web.review_pages import review_pages
from backstay_oblicore.web.site_pages import site_pages


def web_router(services: Services, access: Access) -> APIRouter:
    """Build the pages."""
    web = access.pages.router()
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    home_pages(web, services, access, reader)
    simple_pages(web, services, access, reader)
    aer_pages(web, services, access)
    record_pages(web, services, access)
    measured_pages(web, services, access)
    document_pages(web, services, access)
    # The import pages come first: "/obligations/import/…" would else be taken for an obligation's id.
    import_pages(web, services, access)
    register_pages(web, services, access)
    review_pages(web, services, access)
    calendar_pages(web, services, access)
    pack_pages(web, services, access)
    preferences_pages(web, services, access)
    module_pages(web, services, access)
    site_pages(web, services, access)
    public_pages(web, services, access)
    operations_pages(web, services, access)
    return web
