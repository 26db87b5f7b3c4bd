"""The command line, from an empty database to a pack that is checked."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
import pytest
from typer.testing import CliRunner

from backstay.testing import PrivatePostgres
from backstay_oblicore.cli import app, main
from backstay_oblicore.demo.permit_maker import make_consent
from backstay_parts.sheets import write_xlsx

SECRET = "a secret of the tests, and of nothing else"


class Shell:
    """Types commands; each must succeed and print JSON."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._runner, self._environment = CliRunner(), environment

    def run(self, *words: object, code: int = 0) -> Any:
        done = self._runner.invoke(app, [*map(str, words), "--json"], env=self._environment)
        assert done.exit_code == code, (words, done.output, done.exception)
        return json.loads(done.output)


@pytest.fixture
def shell(server: PrivatePostgres, tmp_path: Path, model_server: Any) -> Shell:
    name = f"oblicore_cli_{uuid4().hex[:8]}"
    server.create_database(name)
    return Shell(
        {
            "OBLICORE_DATABASE_URL": server.url(name),
            "OBLICORE_STORAGE_URL": f"folder:{tmp_path / 'files'}",
            "OBLICORE_MODEL_URL": model_server.base_url,
            "OBLICORE_MODEL_KEY": model_server.api_key,
            "OBLICORE_NEW_PASSWORD": "correct horse",
            "OBLICORE_SECRET": SECRET,
        }
    )


@pytest.mark.timeout(300)
def test_everything_can_be_done_from_the_shell(shell: Shell, tmp_path: Path) -> None:
    """OBL-026 OBL-041 OBL-075"""
    made = make_consent(1002, issued=date(2026, 1, 5))
    permit, register, pack_file = tmp_path / "permit.pdf", tmp_path / "register.xlsx", tmp_path / "pack.pdf"
    permit.write_bytes(made.content)
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    register.write_bytes(
        write_xlsx({"R": [head, ["EPR/1", "Check the bund", "monthly", date(2027, 1, 1), None]]})
    )

    assert "0001_tables.sql" in shell.run("migrate")["applied"]
    company = shell.run("companies", "--add", "Brindle Foods")["company_id"]
    site = shell.run("sites", company, "--add", "Factory")["site_id"]
    shell.run("users", "add", "ada@brindle.example", "Ada", company, "owner", "--site", site)
    ada = ("--as", "ada@brindle.example")
    read = shell.run("ingest", permit, "--site", site, *ada, "--kind", "TRADE_EFFLUENT_CONSENT", "--wait")
    document = read["document_id"]
    assert len(shell.run("obligations", document, *ada)) == len(made.conditions)
    assert shell.run("coverage", document, *ada)["is_complete"] is True
    imported = shell.run("import", register, "--site", site, *ada, "--create-missing-permits", "--wait")
    assert shell.run("confirm", imported["import_id"], *ada, "--wait")["result"]["success_count"] == 1
    ran = shell.run("run", "MONITORING_SCHEDULE", "--at", "2026-06-01", "--company", company)
    assert ran["result"]["obligations"] == len(made.conditions) + 1
    duty = next(one for one in shell.run("obligations", document, *ada) if one["deadline_date"] is not None)
    assert {step["step"] for step in shell.run("explain", duty["id"], *ada)} >= {"rule"}
    packed = shell.run(
        "pack", "AUDIT_PACK", company, *ada, "--site", site, "--document", document, "--start", "2026-01-01"
    )
    stored = next((tmp_path / "files" / "audit-packs").rglob("audit-pack-*.pdf"))
    pack_file.write_bytes(stored.read_bytes())
    assert shell.run("verify", pack_file)["verdict"] == "unchanged"
    pack_file.write_bytes(stored.read_bytes().replace(b"%%EOF", b"%%EOf"))
    assert shell.run("verify", pack_file, code=1)["verdict"] == "changed"
    shared = shell.run("distribute", packed["result"]["pack_id"], *ada, "--link")
    assert shared["result"]["token"]
    assert isinstance(shell.run("outbox", company), list)


@pytest.mark.timeout(300)
def test_a_generator_and_its_year_come_in_from_the_shell(shell: Shell, tmp_path: Path) -> None:
    """OBL-049 OBL-054 OBL-055"""
    paper = tmp_path / "registration.pdf"
    paper.write_bytes(make_consent(1002, issued=date(2026, 1, 5)).content)
    shell.run("migrate")
    company = shell.run("companies", "--add", "Brindle Foods")["company_id"]
    site = shell.run("sites", company, "--add", "Hall", "--working-days")["site_id"]
    shell.run("users", "add", "ada@brindle.example", "Ada", company, "owner", "--site", site)
    ada = ("--as", "ada@brindle.example")
    read = shell.run(
        "ingest",
        paper,
        "--site",
        site,
        *ada,
        "--kind",
        "MCPD_REGISTRATION",
        "--number",
        "MCP/1",
        "--expires",
        "2030-01-01",
    )
    document = read["document_id"]

    added = shell.run("generators", "add", document, "GEN-1", "2025-01-01", *ada, "--annual-limit", "500")
    generator = added["generator_id"]
    shell.run("run-hours", "add", generator, "2025-05-01", "10", *ada)
    shell.run("stack-tests", "add", generator, "2025-05-01", *ada, "--nox", "1.115", "--result", "pass")
    shell.run("fuel", "add", generator, "2025-05-01", "120.5", *ada)
    shell.run("incidents", "add", generator, "2025-05-02", "Coolant lost", *ada)
    shell.run("parameters", "add", document, "NOx", *ada, "--limit", "95", "--unit", "mg/m3")
    period = {"reporting_period_start": "2025-01-01", "reporting_period_end": "2025-12-31"}
    asked = {"document_id": document, "company_id": company, **period}
    made = shell.run("run", "AER_GENERATION", "--args", json.dumps(asked))

    assert made["result"]["total_run_hours"] == "10.00"
    [folder] = (tmp_path / "files" / "aer-documents").rglob("aer-2025-data.csv")
    assert "11.15" in folder.read_text()


@pytest.mark.timeout(300)
def test_one_person_works_for_two_companies_and_looks_after_the_installation(shell: Shell) -> None:
    """OBL-083 OBL-092"""
    shell.run("migrate")
    first = shell.run("companies", "--add", "One")["company_id"]
    second = shell.run("companies", "--add", "Two")["company_id"]

    new = shell.run("users", "add", "cara@green.example", "Cara", first, "consultant", "--platform-admin")
    known = shell.run("users", "add", "Cara@Green.example", "Cara", second, "consultant")
    admins = shell.run("users", "platform-admin", "cara@green.example")["platform_admins"]
    none = shell.run("users", "platform-admin", "cara@green.example", "--remove")["platform_admins"]

    assert (new["was_known"], known["was_known"]) == (False, True)
    assert new["user_id"] == known["user_id"]
    assert (admins, none) == (1, 0)


@pytest.mark.timeout(300)
def test_a_token_is_made_in_the_shell(shell: Shell) -> None:
    """OBL-093"""
    shell.run("migrate")
    company = shell.run("companies", "--add", "One")["company_id"]
    user = shell.run("users", "add", "ada@brindle.example", "Ada", company, "viewer")["user_id"]

    made = shell.run("users", "token", "ada@brindle.example", "--days", "2")

    claims = jwt.decode(made["token"], SECRET, algorithms=["HS256"], audience="oblicore")
    assert (claims["sub"], claims["roles"]) == (user, ["VIEWER"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["companies"], "run `backstay-oblicore migrate`"),
        (["verify", "/nowhere/pack.pdf"], "there is no file /nowhere/pack.pdf"),
        (
            ["ingest", "/nowhere/permit.pdf", "--site", str(uuid4()), "--as", "a@b.example"],
            "there is no file",
        ),
        (["users", "add", "a@b.example", "A", str(uuid4()), "captain"], "it is one of owner, admin, staff"),
        (["users", "token", "a@b.example", "--days", "0"], "from 1 to 365 days, not 0"),
        (
            ["parameters", "add", str(uuid4()), "pH", "--as", "a@b.example", "--limit", "high"],
            "limit_value: Input should be a valid decimal",
        ),
        (
            ["import", __file__, "--site", str(uuid4()), "--as", "a@b.example", "--column", "permit"],
            "a column is given as field=name",
        ),
        (["run", "MONITORING_SHEDULE"], "there is no kind MONITORING_SHEDULE; there are AER_GENERATION"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(
    server: PrivatePostgres,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    """OBL-026"""
    monkeypatch.setenv("OBLICORE_DATABASE_URL", server.url("postgres"))
    monkeypatch.setattr("sys.argv", ["backstay-oblicore", *words])

    with pytest.raises(SystemExit) as ended:
        main()

    errors = capsys.readouterr().err
    assert ended.value.code == 1
    assert said in errors
    assert "Traceback" not in errors
