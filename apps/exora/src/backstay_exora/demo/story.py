"""The demonstration: twelve letters for five patients, two of one family."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from uuid import UUID

from backstay_exora.demo.letters import Letter, draw_letter
from backstay_exora.demo.people import draw_practice
from backstay_exora.demo.scans import scanned
from backstay_exora.demo.stage import Stage, set_up
from backstay_parts.demo import Demo, DemoFailed, run_demo
from backstay_parts.scans import Damage

PRACTICE = "harbour"
SEED = 2025
_WAIT_SECONDS = 240.0


def run(argv: Sequence[str]) -> int:
    """Tell the story; 0 only if all of its sums held."""
    with ExitStack() as stack:

        async def story(demo: Demo) -> None:
            stage = stack.enter_context(set_up(demo.folder))
            await Story(demo, stage).tell()

        return run_demo("Exora", ["document", "status", "what", "facts", "cost"], story, argv=argv)


class Story:
    """The steps of the demonstration, in order."""

    def __init__(self, demo: Demo, stage: Stage) -> None:
        self._demo, self._stage = demo, stage
        self._people = draw_practice(SEED)
        self._patients: list[UUID] = []
        self._documents: dict[UUID, tuple[str, Letter]] = {}

    async def tell(self) -> None:
        """Everything, from an empty database to the last sum."""
        await self._open_the_practice()
        clean = await self._clean_letters()
        held = await self._letters_that_are_held()
        await self._faults_of_the_provider()
        await self._a_worker_is_killed()
        await self._decide(held)
        await self._retract(clean[0])
        await self._look()
        await self._reckon(clean)

    async def _open_the_practice(self) -> None:
        from backstay_exora.app import settings
        from backstay_exora.jobs import app
        from backstay_exora.store.access import add_staff
        from backstay_exora.store.connections import connect
        from backstay_exora.store.patients import add_patient, add_practice

        await app.migrate()
        async with connect(settings.database_url) as connection:
            await add_practice(connection, PRACTICE, "Harbour Street Medical Centre")
            await add_staff(connection, PRACTICE, "rita", "read every letter", role="admin")
            for person in self._people:
                self._patients.append(
                    await add_patient(
                        connection,
                        PRACTICE,
                        given_names=person.given_names,
                        family_name=person.family_name,
                        date_of_birth=person.date_of_birth,
                        gender=person.gender,
                        address=person.address,
                        record_number=person.record_number,
                        ihi=person.ihi,
                        medicare=person.medicare,
                    )
                )
        self._stage.pages.start()
        for name in ("one", "two"):
            self._stage.start_worker(name)
        self._demo.event("five patients, two of one family; two workers, pages at " + self._stage.pages.url)

    async def _clean_letters(self) -> list[UUID]:
        plans = [
            (0, Damage.drawn(1)),
            (1, Damage.drawn(2)),
            (2, Damage(turn=90, noise=10)),
            (3, Damage.drawn(4)),
        ]
        sent = [
            await self._send(who, draw_letter(self._people[who], SEED + place), damage)
            for place, (who, damage) in enumerate(plans)
        ]
        long = draw_letter(self._people[4], SEED + 10, kind="discharge", pages=2)
        sent.append(await self._send(4, long, Damage(noise=6)))
        await self._until(sent)
        turned = await self._value("SELECT turn FROM exora.document_pages WHERE shell_file_id = $1", sent[2])
        self._demo.event(f"the scan that lay sideways was turned by {turned}° and read")
        self._demo.check("degrees by which the sideways scan was turned", 270, turned)
        budgets = await self._rows(
            "SELECT budget, verdict FROM exora.ai_calls"
            " WHERE shell_file_id = $1 AND pass_number = 2 ORDER BY called_at",
            sent[4],
        )
        told = " → ".join(f"{row['budget']} ({row['verdict']})" for row in budgets)
        self._demo.event(f"the two-page letter: budget {told}")
        self._demo.check("the long letter's last answer", "answered", budgets[-1]["verdict"])
        self._demo.check("the long letter needed a second budget", True, len(budgets) > 1)
        return sent

    async def _letters_that_are_held(self) -> list[UUID]:
        child, mother = self._people[0], self._people[1]
        letters = [
            (0, draw_letter(mother, SEED + 20)),
            (3, draw_letter(self._people[2], SEED + 21)),
            (4, draw_letter(self._people[4], SEED + 22, plant="second person")),
            (2, draw_letter(self._people[2], SEED + 23, plant="other address")),
        ]
        assert child.address == mother.address, "they are of one family"
        sent = [await self._send(who, letter, Damage(noise=5)) for who, letter in letters]
        await self._until(sent)
        for document in sent:
            reasons = await self._value(
                "SELECT reasons FROM exora.profile_classification_audit WHERE shell_file_id = $1", document
            )
            self._demo.event(f"{self._documents[document][0]} is held: {'; '.join(reasons)}")
        self._demo.check(
            "letters with something wrong that were held", 4, await self._count(sent, "needs_review")
        )
        facts = await self._facts(sent)
        self._demo.check("facts of held letters", 0, facts)
        return sent

    async def _faults_of_the_provider(self) -> None:
        self._stage.model.fail([{"refusal": "I cannot help with this document."}])
        refused = await self._send(2, draw_letter(self._people[2], SEED + 30), Damage(noise=4))
        await self._until([refused])
        calls = await self._value("SELECT count(*) FROM exora.ai_calls WHERE shell_file_id = $1", refused)
        self._demo.check("calls for a refused letter", 1, calls)
        kinds = await self._value(
            "SELECT kind FROM exora.manual_review_queue WHERE shell_file_id = $1", refused
        )
        self._demo.check("a refusal becomes a review item", "refused", kinds)
        self._demo.event("a refusal: no second try, a person is asked")
        self._stage.model.fail([{"status": 429, "retry_after": "3"}])
        busy = await self._send(3, draw_letter(self._people[3], SEED + 31), Damage(noise=4))
        await self._until([busy])
        waited = await self._value(
            "SELECT max(retry_count) FROM exora.job_queue WHERE shell_file_id = $1 AND job_name LIKE 'Pass 1%'",
            busy,
        )
        self._demo.event("the provider was busy and said to wait 3 s; the second try went through")
        self._demo.check("retries of the pass that met a busy provider", 1, waited)

    async def _a_worker_is_killed(self) -> None:
        self._stage.model.fail([{"match": "=== PAGE", "times": 1}, {"delay": 6, "match": "=== PAGE"}])
        letter = draw_letter(self._people[1], SEED + 40, kind="discharge")
        document = await self._send(1, letter, Damage(noise=4))
        worker = await self._wait_for_value(
            "SELECT worker_id FROM exora.job_queue WHERE shell_file_id = $1 AND job_name LIKE 'Pass 2%'"
            " AND status = 'processing'",
            document,
        )
        self._stage.kill_worker(str(worker))
        self._demo.event(f"kill -9 of {worker} in the middle of Pass 2")
        self._stage.start_worker("three")
        await self._until([document])
        self._stage.model.forget_faults()
        stored = await self._rows(
            "SELECT name, dose FROM exora.patient_medications WHERE shell_file_id = $1 ORDER BY name",
            document,
        )
        expected = sorted((name.lower(), dose) for name, dose in letter.truth.medications)
        found = sorted((row["name"].lower(), row["dose"]) for row in stored)
        self._demo.event(f"taken back: {len(found)} medications, each once")
        self._demo.check("medications after the kill, each once", expected, found)

    async def _decide(self, held: list[UUID]) -> None:
        from backstay_exora.review import decide, open_reviews

        reviews = {row["shell_file_id"]: row["id"] for row in await open_reviews(PRACTICE)}
        await decide(
            PRACTICE,
            reviews[held[0]],
            "move",
            by="rita",
            reason="it is the mother's letter",
            patient_id=self._patients[1],
        )
        await decide(
            PRACTICE,
            reviews[held[1]],
            "move",
            by="rita",
            reason="filed under the wrong name",
            patient_id=self._patients[2],
        )
        await decide(PRACTICE, reviews[held[2]], "reject", by="rita", reason="two people on one page")
        await decide(PRACTICE, reviews[held[3]], "approve", by="rita", reason="she moved house last month")
        await self._until(held, ends={"done", "rejected"})
        owners = await self._rows(
            "SELECT DISTINCT shell_file_id, patient_id FROM exora.patient_medications"
            " WHERE shell_file_id = ANY($1::uuid[])",
            held,
        )
        found = {row["shell_file_id"]: row["patient_id"] for row in owners}
        self._demo.check("the moved letter's facts are the mother's", self._patients[1], found.get(held[0]))
        self._demo.check(
            "the misfiled letter's facts are the right patient's", self._patients[2], found.get(held[1])
        )
        self._demo.check("a rejected letter has no facts", None, found.get(held[2]))
        self._demo.check(
            "the approved letter's facts are the stated patient's", self._patients[2], found.get(held[3])
        )
        self._demo.event("rita moved two letters to the right patients, approved one and rejected one")

    async def _retract(self, document: UUID) -> None:
        from backstay_exora.retraction import retract

        before = await self._facts([document])
        withdrawn = await retract(PRACTICE, document, by="rita", reason="belongs to another clinic")
        gone = sum(
            withdrawn[table] for table in ("patient_medications", "patient_conditions", "patient_allergies")
        )
        self._demo.event(f"one letter was retracted: {gone} facts are gone, the log says who and why")
        self._demo.check("facts withdrawn with the letter", before, gone)
        self._demo.check("facts left of the retracted letter", 0, await self._facts([document]))

    async def _look(self) -> None:
        from backstay_parts.browser import open_chromium
        from backstay_parts.optional import MissingPart

        fact = (await self._rows("SELECT id, shell_file_id, name FROM exora.patient_medications LIMIT 1"))[0]
        address = f"{self._stage.pages.url}/documents/{fact['shell_file_id']}?fact={fact['id']}"
        self._demo.link("a medication and its pixels (rita / read every letter)", address)
        try:
            async with open_chromium(screenshots=self._demo.folder) as visit:
                await visit.page.goto(f"{self._stage.pages.url}/login")
                await visit.page.fill("[name=username]", "rita")
                await visit.page.fill("[name=password]", "read every letter")
                await visit.page.press("[name=password]", "Enter")
                await visit.page.wait_for_url("**/documents")
                await visit.page.goto(address)
                text = await visit.page.inner_text("main")
                picture = await visit.screenshot("document")
        except MissingPart as missing:
            self._demo.event(f"the page was not looked at: {missing}")
            return
        self._demo.check("the page names the medication", True, fact["name"] in text)
        self._demo.check("what the browser complained about", [], visit.complaints)
        self._demo.event(f"the page in Chromium: {picture.name}")

    async def _reckon(self, clean: list[UUID]) -> None:
        from backstay_exora.doctor import examine

        findings = await examine()
        for finding in findings:
            self._demo.event(
                f"doctor {finding.number:>2}: {'held' if finding.is_held else 'BROKEN'}: {finding.rule}"
            )
        self._demo.check(
            "findings of the audit that are held", len(findings), sum(item.is_held for item in findings)
        )
        self._demo.check("documents", 12, len(self._documents))
        wanted = found = 0
        for document in clean[1:]:
            letter = self._documents[document][1]
            rows = await self._rows(
                "SELECT name, dose FROM exora.patient_medications WHERE shell_file_id = $1", document
            )
            stored = {(row["name"].lower(), row["dose"]) for row in rows}
            wanted += len(letter.truth.medications)
            found += sum((name.lower(), dose) in stored for name, dose in letter.truth.medications)
        self._demo.check("medications with their dose in the clean letters", wanted, found)
        cost = await self._value("SELECT sum(cost_dollars) FROM exora.ai_calls")
        self._demo.event(f"the model cost {cost:.4f} $ in all")

    async def _send(self, who: int, letter: Letter, damage: Damage) -> UUID:
        from backstay_exora.documents import upload

        filename, content = await asyncio.to_thread(scanned, letter, damage, seed=len(self._documents))
        done = await upload(PRACTICE, self._patients[who], filename, content, by="reception")
        self._documents[done.id] = (filename, letter)
        self._demo.row(filename, status="uploaded", what=f"for patient {who + 1}")
        return done.id

    async def _until(
        self,
        documents: list[UUID],
        *,
        ends: frozenset[str] | set[str] = frozenset({"done", "needs_review", "failed", "rejected"}),
    ) -> None:
        deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
        while True:
            rows = await self._rows(
                "SELECT s.id, s.status,"
                " (SELECT sum(cost_dollars) FROM exora.ai_calls WHERE shell_file_id = s.id) AS cost"
                " FROM exora.shell_files AS s WHERE s.id = ANY($1::uuid[])",
                documents,
            )
            for row in rows:
                facts = await self._facts([row["id"]])
                name = self._documents[row["id"]][0]
                self._demo.row(name, status=row["status"], facts=facts, cost=f"{row['cost'] or 0:.4f} $")
            if all(row["status"] in ends for row in rows):
                return
            if asyncio.get_running_loop().time() > deadline:
                raise DemoFailed("documents did not end: " + ", ".join(row["status"] for row in rows))
            await asyncio.sleep(0.4)

    async def _wait_for_value(self, sql: str, *values: object) -> object:
        deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
        while (value := await self._value(sql, *values)) is None:
            if asyncio.get_running_loop().time() > deadline:
                raise DemoFailed("what was waited for did not happen")
            await asyncio.sleep(0.2)
        return value

    async def _count(self, documents: list[UUID], status: str) -> int:
        sql = "SELECT count(*) FROM exora.shell_files WHERE id = ANY($1::uuid[]) AND status = $2"
        return int(await self._value(sql, documents, status))

    async def _facts(self, documents: list[UUID]) -> int:
        tables = ("patient_medications", "patient_conditions", "patient_allergies")
        counts = [
            await self._value(
                f"SELECT count(*) FROM exora.{table} WHERE shell_file_id = ANY($1::uuid[])", documents
            )
            for table in tables
        ]
        return sum(int(count) for count in counts)

    async def _value(self, sql: str, *values: object):  # type: ignore[no-untyped-def]  # a column of any type
        rows = await self._rows(sql, *values)
        return rows[0][0] if rows else None

    async def _rows(self, sql: str, *values: object):  # type: ignore[no-untyped-def]  # rows of any shape
        from backstay_exora.app import settings
        from backstay_exora.store.connections import connect

        async with connect(settings.database_url) as connection:
            return await connection.fetch(sql, *values)
