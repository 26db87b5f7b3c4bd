"""Models and single batteries: added, changed, and given a new life, each with its event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from backstay_passport.domain.battery import UnitStatus
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import NewEvent
from backstay_passport.services import Services
from backstay_passport.store import batteries, passports


def add_product(
    services: Services, tenant_id: str, *, sku: str, gtin: str | None, name: str, actor: str | None = None
) -> str:
    """Add a battery model."""
    with services.database.begin() as connection:
        product_id = batteries.add_product(connection, tenant_id, sku=sku, gtin=gtin, name=name)
        told = NewEvent("BatteryProduct", product_id, "PRODUCT_ADDED", {"sku": sku}, actor)
        services.tell(connection, tenant_id, told)
    return product_id


def add_unit(
    services: Services, tenant_id: str, product_id: str, data: Mapping[str, Any], actor: str | None = None
) -> str:
    """Add a single battery."""
    with services.database.begin() as connection:
        unit_id = batteries.add_unit(connection, tenant_id, product_id, data)
        _tell_added(services, connection, tenant_id, unit_id, actor)
    return unit_id


def change_unit(
    services: Services, tenant_id: str, unit_id: str, changes: Mapping[str, Any], actor: str | None = None
) -> None:
    """Write down what is new about a battery; the event says which members and which status, not their values."""
    with services.database.begin() as connection:
        batteries.change_unit(connection, tenant_id, unit_id, changes)
        status = batteries.unit(connection, tenant_id, unit_id)["status"]
        payload = {"changed": sorted(changes), "status": status}
        services.tell(connection, tenant_id, NewEvent("BatteryUnit", unit_id, "UNIT_CHANGED", payload, actor))


def begin_new_life(
    services: Services,
    tenant_id: str,
    unit_id: str,
    *,
    status: UnitStatus,
    serial: str,
    data: Mapping[str, Any],
    actor: str | None = None,
) -> str:
    """Add what a battery has become, linked back to it, and end the passport of the old one."""
    with services.database.begin() as connection:
        old = passports.of_unit(connection, unit_id)
        known = dict(data)
        if old is not None:
            known["previous_passport"] = f"urn:uuid:{old['id']}"
        new_id = batteries.new_life(connection, tenant_id, unit_id, status=status, serial=serial, data=known)
        ended = None if old is None else passports.end(connection, tenant_id, old["id"])
        _tell_added(services, connection, tenant_id, new_id, actor)
        became = {"status": str(status), "successor_id": new_id}
        services.tell(
            connection, tenant_id, NewEvent("BatteryUnit", unit_id, "UNIT_BECAME_ANOTHER", became, actor)
        )
        if ended is not None:
            gone = NewEvent("PassportVersion", ended, "PASSPORT_SUPERSEDED", {"by_unit": new_id}, actor)
            services.tell(connection, tenant_id, gone)
    return new_id


def require_last_life(connection: Connection, tenant_id: str, unit_id: str | None) -> None:
    """Refuse to go on with the passport of a battery that has become another one."""
    if unit_id is None:
        return
    successor = batteries.successor(connection, tenant_id, unit_id)
    if successor is not None:
        raise InvalidInput(
            f"this battery has become {successor['serial']}; its own passport has ended",
            {"id": successor["id"]},
        )


def _tell_added(
    services: Services, connection: Connection, tenant_id: str, unit_id: str, actor: str | None
) -> None:
    row = batteries.unit(connection, tenant_id, unit_id)
    payload = {name: row[name] for name in ("serial", "gtin", "status", "product_id", "predecessor_id")}
    services.tell(connection, tenant_id, NewEvent("BatteryUnit", unit_id, "UNIT_ADDED", payload, actor))
