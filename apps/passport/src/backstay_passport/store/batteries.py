"""Battery models (products) and single batteries (units)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, select
from sqlalchemy.exc import IntegrityError

from backstay_passport.domain.battery import NEW_LIFE, UnitStatus, check_next, read_status
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.digital_link import check_gtin, check_serial
from backstay_passport.domain.errors import InvalidInput, NotFound
from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import battery_products, battery_units


def add_product(connection: Connection, tenant_id: str, *, sku: str, gtin: str | None, name: str) -> str:
    """Store a battery model."""
    if not sku.strip():
        raise InvalidInput("a product needs an SKU")
    checked = None if gtin is None else check_gtin(gtin)
    try:
        with connection.begin_nested():
            return add(connection, battery_products, tenant_id, sku=sku.strip(), gtin=checked, name=name)
    except IntegrityError:
        raise InvalidInput(f"there is a product {sku} already") from None


def product(connection: Connection, tenant_id: str, product_id: str) -> RowMapping:
    """Return a battery model."""
    return find(connection, battery_products, tenant_id, product_id, "product")


def product_by_sku(connection: Connection, tenant_id: str, sku: str) -> RowMapping:
    """Return a battery model by its SKU."""
    query = select(battery_products).where(
        battery_products.c.tenant_id == tenant_id, battery_products.c.sku == sku
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound("product", sku)
    return row


def add_unit(
    connection: Connection,
    tenant_id: str,
    product_id: str,
    data: Mapping[str, Any],
    *,
    predecessor_id: str | None = None,
) -> str:
    """Store a single battery; its data holds serial, status and what is known of its condition."""
    model = product(connection, tenant_id, product_id)
    gtin = check_gtin(str(data.get("gtin") or model["gtin"] or ""))
    serial = check_serial(str(data.get("serial", "")))
    status = read_status(str(data.get("status", UnitStatus.ORIGINAL)))
    values = {**data, "gtin": gtin, "serial": serial, "status": str(status)}
    try:
        with connection.begin_nested():
            return add(
                connection,
                battery_units,
                tenant_id,
                product_id=product_id,
                serial=serial,
                gtin=gtin,
                status=status,
                data=encode(values).decode(),
                predecessor_id=predecessor_id,
            )
    except IntegrityError:
        raise InvalidInput(f"there is a battery {serial} with GTIN {gtin} already") from None


def unit(connection: Connection, tenant_id: str, unit_id: str) -> RowMapping:
    """Return a single battery."""
    return find(connection, battery_units, tenant_id, unit_id, "unit")


def unit_by_label(connection: Connection, gtin: str, serial: str) -> RowMapping | None:
    """Return a single battery by what its label says, whatever its maker."""
    query = select(battery_units).where(battery_units.c.gtin == gtin, battery_units.c.serial == serial)
    return connection.execute(query).mappings().one_or_none()


def unit_data(row: RowMapping) -> dict[str, Any]:
    """Return what is known of a single battery."""
    data: dict[str, Any] = parse(row["data"].encode())
    return data


def change_unit(connection: Connection, tenant_id: str, unit_id: str, changes: Mapping[str, Any]) -> None:
    """Write down what is new about a battery: its condition, or its status if that can follow the present one."""
    row = unit(connection, tenant_id, unit_id)
    became = successor(connection, tenant_id, unit_id)
    if became is not None:
        raise InvalidInput(f"this battery has become {became['serial']}; write down there what is new")
    data = {**unit_data(row), **changes}
    data.update(serial=row["serial"], gtin=row["gtin"])
    wanted = read_status(str(data["status"]))
    if wanted != row["status"]:
        check_next(UnitStatus(row["status"]), wanted)
    data["status"] = str(wanted)
    change(connection, battery_units, unit_id, status=wanted, data=encode(data).decode())


def new_life(
    connection: Connection,
    tenant_id: str,
    unit_id: str,
    *,
    status: UnitStatus,
    serial: str,
    data: Mapping[str, Any],
) -> str:
    """Store the battery that another one has become, with a link back to it."""
    old = unit(connection, tenant_id, unit_id)
    if status not in NEW_LIFE:
        raise InvalidInput(f"{status} is not a new life; change the battery's status instead")
    became = successor(connection, tenant_id, unit_id)
    if became is not None:
        raise InvalidInput(f"this battery has become {became['serial']} already")
    check_next(UnitStatus(old["status"]), status)
    merged = {**unit_data(old), **data, "serial": serial, "status": str(status)}
    merged["gtin"] = data.get("gtin", old["gtin"])
    new_id = add_unit(connection, tenant_id, old["product_id"], merged, predecessor_id=unit_id)
    # The old one is not what it was any more either.
    own = {**unit_data(old), "status": str(status)}
    change(connection, battery_units, unit_id, status=status, data=encode(own).decode())
    return new_id


def successor(connection: Connection, tenant_id: str, unit_id: str) -> RowMapping | None:
    """Return the battery that this one has become."""
    query = select(battery_units).where(
        battery_units.c.tenant_id == tenant_id, battery_units.c.predecessor_id == unit_id
    )
    return connection.execute(query).mappings().one_or_none()


def units_of(connection: Connection, tenant_id: str, product_id: str) -> Sequence[RowMapping]:
    """Return the batteries of a model by serial number."""
    query = select(battery_units).where(
        battery_units.c.tenant_id == tenant_id, battery_units.c.product_id == product_id
    )
    return connection.execute(query.order_by(battery_units.c.serial)).mappings().all()


def last_lives_of(connection: Connection, tenant_id: str, product_id: str) -> Sequence[str]:
    """Return the batteries of a model that have not become another one, by serial number."""
    later = battery_units.alias("later")
    query = (
        select(battery_units.c.id)
        .outerjoin(later, later.c.predecessor_id == battery_units.c.id)
        .where(
            battery_units.c.tenant_id == tenant_id,
            battery_units.c.product_id == product_id,
            later.c.id.is_(None),
        )
    )
    return connection.execute(query.order_by(battery_units.c.serial)).scalars().all()


def page_of_units(
    connection: Connection, tenant_id: str, *, limit: int, offset: int, product_id: str | None = None
) -> Sequence[RowMapping]:
    """Return batteries with the SKU of their model, by model and serial number, a page at a time."""
    query = (
        select(battery_units, battery_products.c.sku)
        .join(battery_products, battery_products.c.id == battery_units.c.product_id)
        .where(battery_units.c.tenant_id == tenant_id)
    )
    if product_id is not None:
        query = query.where(battery_units.c.product_id == product_id)
    ordered = query.order_by(battery_products.c.sku, battery_units.c.serial, battery_units.c.id)
    return connection.execute(ordered.limit(limit).offset(offset)).mappings().all()


def first_unit(connection: Connection, tenant_id: str, product_id: str) -> RowMapping | None:
    """Return a battery of a model, always the same one, if there is any."""
    query = select(battery_units).where(
        battery_units.c.tenant_id == tenant_id, battery_units.c.product_id == product_id
    )
    return connection.execute(query.order_by(battery_units.c.serial).limit(1)).mappings().one_or_none()


def products(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return the models of a tenant."""
    query = select(battery_products).where(battery_products.c.tenant_id == tenant_id)
    return connection.execute(query.order_by(battery_products.c.sku)).mappings().all()


def lineage(connection: Connection, tenant_id: str, unit_id: str) -> list[RowMapping]:
    """Return a battery and what it was before, newest first."""
    found = [unit(connection, tenant_id, unit_id)]
    while found[-1]["predecessor_id"] is not None:
        found.append(unit(connection, tenant_id, found[-1]["predecessor_id"]))
    return found


def subject(model: RowMapping, one: RowMapping | None) -> dict[str, Any]:
    """Return product and unit as a passport is compiled from them."""
    described = {"sku": model["sku"], "name": model["name"]}
    if model["gtin"] is not None:
        described["gtin"] = model["gtin"]
    return {"product": described, "unit": None if one is None else unit_data(one)}
