"""Three acts of tampering, each on a copy, each found and named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import select

from backstay_parts.demo import Demo
from backstay_passport.demo.stage import Stage
from backstay_passport.domain.bundle import read_zip, write_zip
from backstay_passport.domain.events import chain_problems
from backstay_passport.store import events, passports
from backstay_passport.store.tables import passport_versions

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
    with stage.services.database.read() as connection:
        found = events.all_events(connection, tenant_id)
    longest = max(found, key=lambda one: one.aggregate_version)
    kept = [
        one
        for one in found
        if not (
            one.aggregate_id == longest.aggregate_id
            and one.aggregate_version == longest.aggregate_version - 1
        )
    ]
    problems = chain_problems(kept)
    named = any(longest.aggregate_id in problem and "missing" in problem for problem in problems)
    demo.check("a deleted event is found and named", True, named)


def _code(demo: Demo, stage: Stage, text: str) -> None:
    place = text.index("|ph=") + 10
    changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
    done = stage.command("verify", changed)
    named = "ph (payload hash)" in done.stdout
    demo.check("a changed character of a code is found and named", (1, True), (done.returncode, named))
