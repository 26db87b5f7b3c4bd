"""SIGN_TREE_HEADS: once a day, sign the ends of every maker's event chains; no job of the document, but upkeep."""

from __future__ import annotations

from backstay_passport.actions.audit import sign_head
from backstay_passport.services import Services
from backstay_passport.store import access


def run(services: Services) -> int:
    """Sign a head for each tenant and return how many; after a crash some are signed twice, which does no harm."""
    with services.database.read() as connection:
        tenants = [str(row["id"]) for row in access.all_tenants(connection)]
    for tenant_id in tenants:
        sign_head(services, tenant_id)
    return len(tenants)
