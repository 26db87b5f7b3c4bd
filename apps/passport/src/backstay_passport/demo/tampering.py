"""Three acts of tampering, each on a copy, each found and named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, text

from backstay_parts.demo import Demo
from backstay_passport.demo.stage import Stage
from backstay_passport.domain.bundle import read_zip, write_zip
from backstay_passport.domain.events import Event
from backstay_passport.jobs import build
from backstay_passport.services import Services
from backstay_passport.settings import Settings
from backstay_passport.store import events, passports
from backstay_passport.store.tables import events as event_table
from backstay_passport.store.tables import passport_versions, signing_keys, tenants

if TYPE_CHECKING:
    from backstay_passport.demo.acts import Acts


def tamper(demo: Demo, stage: Stage, acts: Acts) -> None:
    """Change one byte of a payload, delete one event, exchange one character of a code."""
    with stage.services.database.read() as connection:
        row = connection.execute(select(passport_versions).limit(1)).mappings().one()
    _payload(demo, stage, row["id"])
    _event(demo, stage, acts.tenant)
    _code(demo, stage, passports.artifacts(row).qr_text or "")


def _payload(demo: Demo, stage: Stage, version_id: str) -> None:
    path = stage.folder / "tampered.zip"
    stage.command("export", version_id, "--format", "zip", "-o", str(path))
    bundle = read_zip(path.read_bytes())
    changed = bundle.files["payload.json"].replace(b'"batteryMass":"', b'"batteryMass":"9', 1)
    path.write_bytes(write_zip(replace(bundle, files={**bundle.files, "payload.json": changed})))
    done = stage.command("verify", str(path))
    named = "GeneralProductInformation.batteryMass" in done.stdout
    demo.check("a changed payload is found and its field named", (1, True), (done.returncode, named))


def _event(demo: Demo, stage: Stage, tenant_id: str) -> None:
    """Delete an event in a copy of the database, and let the command that anybody would run look for it."""
    url = f"sqlite:///{stage.folder / 'copy.db'}"
    copy = build(Settings(database_url=url))
    try:
        copy.migrate()
        victim = _copy_without_an_event(stage, copy, tenant_id)
    finally:
        copy.close()
    done = stage.command("audit", "verify", BPC_DATABASE_URL=url)
    named = victim.aggregate_id in done.stdout and "missing" in done.stdout
    demo.check("an event deleted in a copy is found and named", (1, True), (done.returncode, named))


def _copy_without_an_event(stage: Stage, copy: Services, tenant_id: str) -> Event:
    with stage.services.database.read() as source, copy.database.begin() as target:
        for table in (tenants, signing_keys, event_table):
            rows = [dict(row) for row in source.execute(select(table)).mappings()]
            target.execute(insert(table), rows)
        found = events.all_events(target, tenant_id)
        longest = max(found, key=lambda one: one.aggregate_version)
        victim = next(
            one
            for one in found
            if one.aggregate_id == longest.aggregate_id
            and one.aggregate_version == longest.aggregate_version - 1
        )
        # Who may do this to the database owns it; the chain tells all the same.
        target.execute(text("DROP TRIGGER events_kept"))
        target.execute(delete(event_table).where(event_table.c.event_id == victim.event_id))
    return victim


def _code(demo: Demo, stage: Stage, text: str) -> None:
    place = text.index("|ph=") + 10
    changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
    done = stage.command("verify", changed)
    named = "ph (payload hash)" in done.stdout
    demo.check("a changed character of a code is found and named", (1, True), (done.returncode, named))
