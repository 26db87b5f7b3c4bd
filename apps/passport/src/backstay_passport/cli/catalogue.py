"""products, units, labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from backstay_passport.actions import batteries as actions
from backstay_passport.cli.output import JSON_OPTION, TENANT_OPTION, fail, opened, say, say_table, tenant_id
from backstay_passport.domain.battery import read_status
from backstay_passport.domain.digital_link import label_url
from backstay_passport.export.labels import Label, label_sheet
from backstay_passport.store import batteries

UNIT_COLUMNS = ["id", "serial", "gtin", "status"]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    products = typer.Typer(help="Battery models.", invoke_without_command=True)
    products.callback()(products_list)
    products.command("add")(products_add)
    app.add_typer(products, name="products")
    units = typer.Typer(help="Single batteries.", invoke_without_command=True)
    units.callback()(units_all)
    units.command("list")(units_list)
    units.command("add")(units_add)
    units.command("status")(units_status)
    units.command("renew")(units_renew)
    app.add_typer(units, name="units")
    app.command()(labels)


def products_list(context: typer.Context, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the battery models."""
    if context.invoked_subcommand is not None:
        return
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            say_table(batteries.products(connection, owner), ["id", "sku", "gtin", "name"], as_json=as_json)


def products_add(
    sku: str, gtin: str = "", name: str = "", tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION
) -> None:
    """Add a battery model."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        product_id = actions.add_product(services, owner, sku=sku, gtin=gtin or None, name=name or sku)
    say({"id": product_id, "sku": sku}, as_json=as_json, text=f"Added {sku}: {product_id}")


def units_all(context: typer.Context, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the batteries of all models."""
    if context.invoked_subcommand is not None:
        return
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = [
                {**unit, "sku": model["sku"]}
                for model in batteries.products(connection, owner)
                for unit in batteries.units_of(connection, owner, model["id"])
            ]
    say_table(rows, ["id", "sku", *UNIT_COLUMNS[1:]], as_json=as_json)


def units_list(sku: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the batteries of a model."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            model = batteries.product_by_sku(connection, owner, sku)
            say_table(batteries.units_of(connection, owner, model["id"]), UNIT_COLUMNS, as_json=as_json)


def units_add(
    sku: str,
    serial: str,
    data: Path | None = typer.Option(None, help="JSON with what is known of the battery."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Add a single battery."""
    known: dict[str, Any] = _read(data) if data else {}
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            model = batteries.product_by_sku(connection, owner, sku)
        unit_id = actions.add_unit(services, owner, model["id"], {**known, "serial": serial})
    say({"id": unit_id, "serial": serial}, as_json=as_json, text=f"Added {serial}: {unit_id}")


def units_status(unit_id: str, status: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Change the status of a battery."""
    with opened() as services:
        actions.change_unit(services, tenant_id(services, tenant), unit_id, {"status": status})
    say({"id": unit_id, "status": status}, as_json=as_json, text=f"{unit_id} is {status} now.")


def units_renew(
    unit_id: str, status: str, serial: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION
) -> None:
    """Begin the new life of a battery under a new serial number; the old one's passport ends."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        new = actions.begin_new_life(
            services, owner, unit_id, status=read_status(status), serial=serial, data={}
        )
    say({"id": new, "predecessor": unit_id}, as_json=as_json, text=f"Added {serial}: {new}")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_float=str)
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    if not isinstance(value, dict):
        fail(f"{path}: not a JSON object")
    return value


def labels(
    model: str,
    output: Path = typer.Option(..., "-o", help="Where the PDF is written."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a sheet of labels for all batteries of a model."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            product = batteries.product_by_sku(connection, owner, model)
            units = batteries.units_of(connection, owner, product["id"])
        if not units:
            fail(f"there are no batteries of {model} yet")
        base = services.settings.public_url
        sheet = label_sheet(
            [
                Label(
                    label_url(base, unit["gtin"], unit["serial"]),
                    product["name"],
                    unit["gtin"],
                    unit["serial"],
                )
                for unit in units
            ]
        )
        output.write_bytes(sheet)
    value = {"file": str(output), "labels": len(units)}
    say(value, as_json=as_json, text=f"{len(units)} labels in {output}")
