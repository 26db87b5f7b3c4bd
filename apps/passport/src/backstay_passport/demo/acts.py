"""The acts of the demonstration."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from sqlalchemy import RowMapping, func, select

from backstay_parts.demo import Demo, DemoFailed
from backstay_passport.actions import audit, passports, people, rules, snapshots
from backstay_passport.actions import batteries as battery_actions
from backstay_passport.actions import webhooks as webhook_actions
from backstay_passport.demo.documents import as_json, as_scan, as_xml, form_pdf, table_pdf
from backstay_passport.demo.models import Model, models, unit
from backstay_passport.demo.stage import Stage
from backstay_passport.domain.hashing import keyed_hash
from backstay_passport.domain.qr import qr_terminal
from backstay_passport.domain.webhooks import SIGNATURE_HEADER
from backstay_passport.export import ExportFormat
from backstay_passport.rule_packages import battery_passport
from backstay_passport.store import access, batteries, documents
from backstay_passport.store import rules as rule_store
from backstay_passport.store import webhooks as webhook_store
from backstay_passport.store.tables import (
    document_versions,
    facts,
    passport_exports,
    passport_versions,
    webhook_deliveries,
)
from backstay_passport.store.tables import documents as document_table
from backstay_passport.types_of_jobs import waiting_jobs

PATIENCE_SECONDS = 240.0
SUPPLIERS = [
    ("supplier_id", "Supplier no."),
    ("material", "Material"),
    ("risk", "Risk"),
    ("policy_url", "Policy"),
    ("report_url", "Report"),
]


class Acts:
    """The story's acts, and what they have made so far."""

    def __init__(self, demo: Demo, stage: Stage, units: int) -> None:
        self.demo, self.stage, self.services = demo, stage, stage.services
        self.models = models()
        self.units_each = units
        self.tenant = ""
        self.key = ""
        self.rules_id = ""
        self.unit_ids: dict[str, list[str]] = {}
        self.secret = b""

    def set_up(self) -> None:
        """Tables, a tenant, somebody to log in, a webhook, servers."""
        self.stage.migrate()
        with self.services.database.begin() as connection:
            self.tenant = access.add_tenant(connection, "Norrfjord Cells")
        self.key = people.new_key(self.services, self.tenant, "demo", "maker")
        people.new_user(self.services, self.tenant, "maker", "battery staple", "maker")
        wanted = ["FACTS_PARSED", "FACTS_REJECTED", "SNAPSHOT_SEALED", "RULES_PUBLISHED"]
        added = webhook_actions.add(self.services, self.tenant, f"{self.stage.receiver.url}/hook", wanted)
        with self.services.database.read() as connection:
            row = webhook_store.endpoint(connection, self.tenant, added["id"])
        self.secret = bytes(row["secret"])
        self.stage.open()
        self.demo.event("pages, two workers and a webhook receiver that fails first are running")

    def upload_documents(self) -> None:
        """Four formats for each model, and a document that must be rejected."""
        for model in self.models:
            for name, content, mime_type in self._documents(model):
                self._upload(name, content, mime_type)
        parts: list[dict[str, Any]] = [{"sku": f"P-{n}", "mass_kg": Decimal(n)} for n in (1, 2, 3)]
        broken = {"components": [*parts, {"name": "without a number"}]}
        self._upload("broken.json", as_json(broken), "application/json", "BOM")
        self.demo.event("documents uploaded: JSON, XML, text PDF, scanned PDF, and a broken one")
        self._wait("documents", lambda: self._documents_left() == 0)
        with self.services.database.read() as connection:
            inbox = documents.inbox(connection, self.tenant)
            found = len(connection.execute(select(facts.c.id)).all())
        status = Counter(row["status"] for row in inbox)
        self.demo.check("documents validated", 3 * 3, status["VALIDATED"])
        [rejected] = [row for row in inbox if row["status"] == "REJECTED"]
        self.demo.check("the broken document names its place", True, "/components/3/sku" in rejected["error"])
        self.demo.event(f"{found} facts; {rejected['name']} was rejected: {rejected['error']}")
        for model in self.models:
            self._show_documents(model)

    def _show_documents(self, model: Model) -> None:
        query = (
            select(document_versions.c.id, func.count(facts.c.id).label("facts"))
            .join(document_table, document_table.c.id == document_versions.c.document_id)
            .outerjoin(facts, facts.c.source_doc_version_id == document_versions.c.id)
            .where(
                document_table.c.name.startswith(f"{model.sku} "), document_versions.c.status == "VALIDATED"
            )
            .group_by(document_versions.c.id)
        )
        with self.services.database.read() as connection:
            read = connection.execute(query).all()
        self.demo.row(model.sku, documents=len(read), facts=sum(one.facts for one in read))

    def _documents(self, model: Model) -> list[tuple[str, bytes, str]]:
        place = self.models.index(model)
        bill = {"components": [model.component]}
        xml = (f"{model.sku} bill.xml", as_xml(bill, "bom"), "application/xml")
        plain = (f"{model.sku} bill.json", as_json(bill), "application/json")
        report = table_pdf("Supply chain due diligence", SUPPLIERS, model.suppliers)
        return [
            xml if place == 1 else plain,
            (
                f"{model.sku} footprint.pdf",
                form_pdf("Carbon footprint", model.declarations),
                "application/pdf",
            ),
            (
                f"{model.sku} duty.pdf",
                as_scan(report, seed=place) if place == 0 else report,
                "application/pdf",
            ),
        ]

    def _upload(self, name: str, content: bytes, mime_type: str, kind: str = "") -> None:
        answer = httpx.post(
            f"http://127.0.0.1:{self.stage.port}/api/v1/documents",
            headers={"Authorization": f"Bearer {self.key}"},
            files={"file": (name, content, mime_type)},
            data={"kind": kind},
            timeout=30,
        )
        if answer.status_code != 202:
            raise DemoFailed(f"{name} was not taken: {answer.text}")

    def _documents_left(self) -> int:
        with self.services.database.read() as connection:
            inbox = documents.inbox(connection, self.tenant)
        ended = sum(1 for row in inbox if row["status"] in ("VALIDATED", "REJECTED"))
        return 3 * 3 + 1 - ended

    def prepare_rules(self) -> None:
        """Rules, their tests, publishing."""
        sources = battery_passport()
        self.rules_id = rules.add_version(self.services, self.tenant, sources.rules, sources.tests)
        rules.run_tests(self.services, self.tenant, self.rules_id, seed=20_261_118)
        self._wait("rule tests", lambda: waiting_jobs(self.services, "RUN_RULE_TESTS") == 0)
        rules.publish(self.services, self.tenant, self.rules_id)
        with self.services.database.read() as connection:
            [run] = rule_store.runs(connection, self.tenant, self.rules_id)
        self.demo.check("rule tests that hold", run["total_cases"], run["passed_count"])
        self.demo.event(f"{run['passed_count']} rule tests hold; the rules are published")

    def make_passports(self) -> None:
        """A passport for every battery; one worker is killed in the middle."""
        snapshot_id = snapshots.create(self.services, self.tenant, "demo")
        held = snapshots.add_newest(self.services, self.tenant, snapshot_id)
        snapshots.seal(self.services, self.tenant, snapshot_id)
        for model in self.models:
            self.demo.row(model.sku, snapshot=held)
        began = time.monotonic()
        for model in self.models:
            self._add_units(model)
            for unit_id in self.unit_ids[model.sku]:
                product_id = self._product(model)
                passport_id = passports.create(self.services, self.tenant, product_id, unit_id)
                passports.compile_version(self.services, self.tenant, passport_id, snapshot_id, self.rules_id)
        total = self.units_each * len(self.models)
        self._wait("the first passports", lambda: self._progress() >= max(1, total // 5))
        self.stage.workers[0].kill()
        self.demo.event("one worker was killed with kill -9")
        self._wait("all passports", lambda: self._progress() >= total)
        took = time.monotonic() - began
        self.demo.event(f"{total} passports in {took:.1f} s: {total / took:.1f} a second")
        for version_id in self._versions("SIGNED"):
            passports.activate(self.services, self.tenant, version_id)
        self._progress()

    def export_all(self) -> None:
        """A public bundle of every version, each made by a job and verified by somebody without our code."""
        for version_id in self._versions("ACTIVE"):
            passports.export_version(self.services, self.tenant, version_id, ExportFormat.ZIP, public=True)
        total = self.units_each * len(self.models)
        self._wait("exports", lambda: self._exported() >= total)

    def _product(self, model: Model) -> str:
        with self.services.database.read() as connection:
            return str(batteries.product_by_sku(connection, self.tenant, model.sku)["id"])

    def _add_units(self, model: Model) -> None:
        product_id = battery_actions.add_product(
            self.services, self.tenant, sku=model.sku, gtin=model.gtin, name=model.component["name"]
        )
        self.unit_ids[model.sku] = [
            battery_actions.add_unit(self.services, self.tenant, product_id, unit(model, number, seed=1))
            for number in range(1, self.units_each + 1)
        ]

    def _progress(self) -> int:
        """Show how far the passports are and return how many have their code."""
        done = 0
        with self.services.database.read() as connection:
            rows = connection.execute(
                select(
                    passport_versions.c.status,
                    passport_versions.c.qr_payload,
                    passport_versions.c.subject_canonical,
                )
            ).all()
        for model in self.models:
            mine = [row for row in rows if model.sku.encode() in bytes(row.subject_canonical)]
            codes = sum(1 for row in mine if row.qr_payload is not None)
            signed = sum(1 for row in mine if row.status != "COMPILING")
            active = sum(1 for row in mine if row.status == "ACTIVE")
            self.demo.row(model.sku, compiled=len(mine), signed=signed, codes=codes, active=active)
            done += codes
        return done

    def _exported(self) -> int:
        """Show how many versions are exported and return it."""
        query = select(passport_versions.c.subject_canonical).join(
            passport_exports, passport_exports.c.passport_version_id == passport_versions.c.id
        )
        with self.services.database.read() as connection:
            subjects = [bytes(one) for one in connection.execute(query).scalars()]
        for model in self.models:
            self.demo.row(model.sku, exports=sum(model.sku.encode() in one for one in subjects))
        return len(subjects)

    def _versions(self, status: str) -> list[str]:
        with self.services.database.read() as connection:
            query = select(passport_versions.c.id).where(passport_versions.c.status == status)
            return list(connection.execute(query).scalars())

    def show_page(self) -> None:
        """A label's code in the terminal, the public page, and what a recycler sees."""
        model = self.models[0]
        _, token = people.new_token(self.services, self.tenant, "a recycler", "recycler")
        with self.services.database.read() as connection:
            serial = batteries.unit(connection, self.tenant, self.unit_ids[model.sku][0])["serial"]
        address = f"http://127.0.0.1:{self.stage.port}/01/{model.gtin}/21/{serial}"
        page = httpx.get(address, headers={"Accept": "text/html"}, timeout=30)
        more = httpx.get(address, params={"token": token}, headers={"Accept": "text/html"}, timeout=30)
        self.demo.check(
            "the public page opens and is verified", True, page.status_code == 200 and "Verified" in page.text
        )
        self.demo.check("the public does not see the state of charge", False, "State of charge" in page.text)
        self.demo.check("a recycler sees it", True, "State of charge" in more.text)
        self.demo.event("the label of the first battery:\n" + qr_terminal(address))
        self.demo.link("public page", address)
        self.demo.link("as a recycler", f"{address}?token={token}")
        self.demo.link("console (maker, battery staple)", f"http://127.0.0.1:{self.stage.port}/console")

    def replay_elsewhere(self) -> None:
        """Compile a version again in a process with another hash seed and time zone."""
        version_id = self._versions("ACTIVE")[0]
        bundle = self.stage.folder / "passport.zip"
        self.stage.command("export", version_id, "--format", "zip", "-o", str(bundle))
        done = self.stage.command("replay", str(bundle), PYTHONHASHSEED="4711", TZ="Asia/Kathmandu")
        self.demo.check("replay is equal", (0, 3), (done.returncode, done.stdout.count("equal ")))

    def count(self) -> None:
        """The sums at the end."""
        total = self.units_each * len(self.models)
        with self.services.database.read() as connection:
            versions = connection.execute(select(passport_versions)).mappings().all()
        self.demo.check("one version for each battery", total, len(versions))
        good = sum(_is_signed_by_another_library(row) for row in versions)
        self.demo.check("signatures that hold by PyNaCl", total, good)
        _, problems = audit.verify_chains(self.services, self.tenant)
        self.demo.check("problems in the event chains", 0, len(problems))
        self._wait("webhooks", lambda: self._deliveries("DELIVERED") == self._deliveries(None))
        received = self.stage.receiver.deliveries(path="/hook")
        right = sum(
            f"sha256={keyed_hash(self.secret, one.body).hex()}" == one.headers.get(SIGNATURE_HEADER.lower())
            for one in received
        )
        self.demo.check("webhooks whose signature holds", len(received), right)
        failed_first = sum(1 for one in received if one.status >= 500)
        self.demo.check("webhooks that failed first and came again", True, failed_first > 0)
        self.demo.check("events delivered", self._deliveries(None), self._deliveries("DELIVERED"))

    def _deliveries(self, status: str | None) -> int:
        query = select(webhook_deliveries.c.id)
        if status is not None:
            query = query.where(webhook_deliveries.c.status == status)
        with self.services.database.read() as connection:
            return len(connection.execute(query).all())

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not done():
            if time.monotonic() > end:
                raise DemoFailed(f"{what} took longer than {PATIENCE_SECONDS:g} seconds")
            time.sleep(0.2)


def _is_signed_by_another_library(row: RowMapping) -> bool:
    """Check a signature with PyNaCl, which has nothing in common with what has made it."""
    try:
        VerifyKey(bytes(row["signing_key_public"])).verify(
            bytes(row["receipt_hash"]), bytes(row["signature"])
        )
    except BadSignatureError:
        return False
    return True
