"""The command line: JSON for programs, exit codes that tell the truth."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from passport_examples import KEY, example_input, signed
from typer.testing import CliRunner

from backstay_passport.cli.main import app
from backstay_passport.cli.running import warn_of_key
from backstay_passport.domain.bundle import public_bundle, read_zip, write_zip
from backstay_passport.domain.tiers import audience
from backstay_passport.jobs import build
from backstay_passport.settings import Settings

DOCUMENT = {"components": [{"sku": "CLI-1", "mass_kg": 7.5}]}
RULES = """package "cli"
fact Battery { sku: Text, mass_kg: Decimal kg }
let battery = fact("Battery", "battery:" + product.sku)
rule mass: set GeneralProductInformation.batteryMass = battery.mass_kg
"""
TESTS = """property "mass" for 500 cases with { mass: decimal(1, 900, 2) }
  given { product {sku: "A"} fact "Battery" "battery:A" {sku: "A", mass_kg: mass} }
  expect out(GeneralProductInformation.batteryMass) == mass * 1 kg
"""


def run(*arguments: str, code: int = 0) -> Any:
    """Run a command, check its exit code, and return its JSON or text."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, (arguments, result.output, result.exception)
    if "--json" in arguments:
        return json.loads(result.stdout)
    return result.output


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A database with tables, a tenant and a worker."""
    monkeypatch.setenv("BPC_DATABASE_URL", f"sqlite:///{tmp_path / 'cli.db'}")
    monkeypatch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", base64.b64encode(bytes(32)).decode())
    monkeypatch.setenv("BPC_SIGNING_KEY_ID", "cli-key")
    run("migrate")
    run("tenants", "add", "maker")
    services = build(Settings.from_environment())
    worker = services.app.worker(concurrency=2)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    yield tmp_path
    worker.stop()
    thread.join(60)
    services.close()


def test_a_passport_is_made_verified_and_replayed_by_commands(cli: Path) -> None:
    """BPC-046: from a document to a replayed bundle, with exit codes at every step."""
    (cli / "bill.json").write_text(json.dumps(DOCUMENT))
    (cli / "broken.json").write_text('{"components": [{"name": "x"}]}')
    assert run("ingest", str(cli / "bill.json"), "--kind", "BOM", "--wait", "--json")["status"] == "VALIDATED"
    rejected = run("ingest", str(cli / "broken.json"), "--kind", "BOM", "--wait", "--json", code=1)
    assert "/components/0/sku" in rejected["error"]
    (cli / "r.rules").write_text(RULES)
    (cli / "r.tests").write_text(TESTS)
    rules = run("rules", "add", str(cli / "r.rules"), str(cli / "r.tests"), "--json")["id"]
    run("rules", "publish", rules, code=1)
    assert run("rules", "test", rules, "--wait", "--json")["status"] == "PASSED"
    run("rules", "publish", rules)
    run("products", "add", "CLI-1", "--gtin", "4006381333931")
    unit = run("units", "add", "CLI-1", "S1", "--json")["id"]
    snapshot = run("snapshots", "create", "s", "--json")
    assert snapshot["facts"] == 1
    run("snapshots", "seal", snapshot["id"])
    made = run("compile", unit, "--wait", "--json")
    assert made["status"] == "SUCCEEDED"
    _wait_signed(made["passport_id"])
    run("activate", made["version_id"])
    bundle = cli / "p.zip"
    run("export", made["version_id"], "--format", "zip", "-o", str(bundle))
    assert run("replay", str(bundle), "--json")["equal"] is True
    assert run("verify", str(bundle), "--json")["ok"] is True
    changed = read_zip(bundle.read_bytes())
    files = {**changed.files, "payload.json": changed.files["payload.json"].replace(b'"7.5"', b'"7.6"')}
    bundle.write_bytes(write_zip(type(changed)(changed.scope, files)))
    broken = run("verify", str(bundle), "--json", code=1)
    assert any("batteryMass" in check["detail"] for check in broken["checks"] if not check["ok"])
    text = changed.files["qr.txt"].decode()
    assert run("verify", text, "--json")["ok"] is True
    run("verify", text[:-1] + ("A" if text[-1] != "A" else "B"), code=1)
    run("labels", "CLI-1", "-o", str(cli / "labels.pdf"))
    assert (cli / "labels.pdf").read_bytes().startswith(b"%PDF")
    assert run("audit", "verify", "--json")["problems"] == []
    run("revoke", made["version_id"], "recalled")
    run("verify", text, code=1)


def _wait_signed(passport_id: str) -> None:
    for _ in range(600):
        versions = run("passport", passport_id, "--json")["versions"]
        if versions and versions[0]["status"] == "SIGNED":
            return
        threading.Event().wait(0.1)
    raise TimeoutError("the version was not signed")


def test_errors_of_rules_have_file_line_and_column(tmp_path: Path) -> None:
    """BPC-037: rules check needs no database."""
    path = tmp_path / "bad.rules"
    path.write_text(RULES + 'rule x: require 1 + 2 else "x"\n')
    output = run("rules", "check", str(path), code=1)
    assert f"{path}:5:19: what is required must be Bool" in output
    path.write_text(RULES)
    tests = tmp_path / "good.tests"
    tests.write_text(TESTS)
    assert run("rules", "check", str(path), "--tests", str(tests), "--json")["status"] == "PASSED"
    tests.write_text(TESTS.replace("500", "499"))
    run("rules", "check", str(path), "--tests", str(tests), code=1)


def test_a_key_is_rotated_and_partners_get_tokens(cli: Path) -> None:
    """BPC-029: a new key in a private file; a taken id is refused; tokens by tier."""
    target = cli / "key.env"
    run("keys", "rotate", "key-2", "-o", str(target))
    assert target.stat().st_mode & 0o077 == 0
    assert "BPC_SIGNING_KEY_ID=key-2" in target.read_text()
    run("keys", "rotate", "key-2", "-o", str(cli / "other.env"), code=1)
    assert [row["key_id"] for row in run("keys", "--json")] == ["key-2"]
    assert run("tokens", "--tier", "recycler", "--json")["token"].startswith("bpt_")
    run("tokens", "--tier", "nobody", code=1)


def test_a_key_that_cannot_be_written_down_is_not_remembered(cli: Path) -> None:
    """BPC-029: neither a file that is there is overwritten, nor is its key known afterwards."""
    taken = cli / "taken.env"
    taken.write_text("mine")
    run("keys", "rotate", "key-9", "-o", str(taken), code=1)
    assert taken.read_text() == "mine"
    assert run("keys", "--json") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("tenants",),
        ("products",),
        ("units",),
        ("units", "list", "CLI-9"),
        ("snapshots", "list"),
        ("rules", "list"),
        ("webhooks", "list"),
        ("inbox",),
        ("keys",),
        ("audit", "verify"),
    ],
)
def test_what_is_listed_is_listed_as_json_too(cli: Path, arguments: tuple[str, ...]) -> None:
    """BPC-047: every list for people and for programs."""
    run("products", "add", "CLI-9", "--gtin", "4006381333931")
    run("units", "add", "CLI-9", "S9")
    assert run(*arguments)
    assert isinstance(run(*arguments, "--json"), list | dict)


def test_a_bundle_signed_by_somebody_else_does_not_hold(cli: Path) -> None:
    """BPC-029, BPC-033: everything fits in it, but the key is nobody's; with --key the caller says whom to trust."""
    _, artifacts = signed(example_input())
    path = cli / "forged.zip"
    path.write_bytes(write_zip(public_bundle(artifacts, KEY.key_id, audience("public"))))
    forged = run("verify", str(path), "--json", code=1)
    assert [check["check"] for check in forged["checks"] if not check["ok"]] == ["key"]
    assert run("verify", str(path), "--key", KEY.public.hex(), "--json")["ok"] is True
    run("verify", str(path), "--key", "00" * 32, code=1)
    run("verify", "BPC1|x", "--key", KEY.public.hex(), code=1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("complie",), 2, "compile"),
        (("rules", "publsh", "x"), 2, "publish"),
        (("export", "x", "--format", "docx", "-o", "f"), 1, "pdf, jsonld, xml, vc, zip"),
        (("export", "x", "--format", "zip", "-o", "f"), 1, "no passport version x here"),
        (("ingest", "FILE", "--kind", "BON"), 1, "BOM, PCF, DUE_DILIGENCE, OTHER"),
        (("tokens", "--tier", "7"), 1, "recycler"),
        (("products", "add", "X", "--gtin", "4006381333932"), 1, "should be 1"),
        (("units", "add", "NONE", "S"), 1, "no product NONE here"),
        (("units", "status", "x", "Waste"), 1, "no unit x here"),
        (("users", "add", "ada", "--role", "king"), 1, "viewer, maker, admin"),
        (("api-key", "a", "--role", "king"), 1, "viewer, maker, admin"),
        (("rules", "add", "nowhere.rules", "nowhere.tests"), 1, "nowhere.rules"),
        (("rules", "add", "FILE"), 1, "give both files"),
        (("rules", "check", "nowhere.rules"), 1, "there is no file nowhere.rules"),
        (("rules", "test", "x", "--seed", "99999999999999999999"), 1, "64 bits"),
        (("snapshots", "seal", "x"), 1, "no snapshot x here"),
        (("webhooks", "add", "ftp://x"), 1, "ftp"),
        (("webhooks", "redeliver", "x"), 1, "no webhook delivery x here"),
        (("verify", "nowhere.zip"), 1, "nowhere.zip"),
        (("replay", "FILE"), 1, "not a passport bundle"),
        (("activate", "x"), 1, "no passport version x here"),
        (("revoke", "x", "why"), 1, "no passport version x here"),
        (("inbox", "--tenant", "nobody"), 1, "no tenant nobody here"),
        (("tenants", "add", "maker"), 1, "already"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(
    cli: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """BPC-047: an exit code that tells the truth, and words that help; never a traceback."""
    monkeypatch.setenv("BPC_PASSWORD", "battery staple")
    monkeypatch.setenv("COLUMNS", "200")
    file = cli / "file.json"
    file.write_text("{}")
    said = run(*(str(file) if one == "FILE" else one for one in arguments), code=code)
    assert words in said.replace("\n", " ")


def test_a_database_without_tables_says_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-047: not a traceback, but the command that helps."""
    monkeypatch.setenv("BPC_DATABASE_URL", f"sqlite:///{tmp_path / 'empty.db'}")
    assert "backstay-passport migrate" in run("tenants", code=1)
    monkeypatch.setenv("BPC_DATABASE_URL", "mysql://x")
    run("tenants", code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("passport", "x"),
        ("compile", "x"),
        ("ingest", "/nowhere"),
        ("replay", "/nowhere"),
        ("labels", "X", "-o", "/tmp/x"),
    ],
)
def test_what_is_not_there_is_an_error(cli: Path, arguments: tuple[str, ...]) -> None:
    """BPC-006: a message, and exit code 1."""
    assert "backstay-passport:" in run(*arguments, code=1)


@pytest.mark.parametrize(
    "variable", ["BPC_PAYLOAD_MAX_BYTES", "BPC_JOBS_LEASE_SECONDS", "BPC_QR_SCALE", "BPC_QUEUE_ENABLED"]
)
def test_a_setting_that_cannot_be_used_is_named(variable: str) -> None:
    """BPC-023: settings are read from the environment, and refused by name."""
    with pytest.raises(Exception, match=variable):
        Settings.from_environment({variable: "many"})
    assert Settings.from_environment({"BPC_PAYLOAD_MAX_BYTES": "10"}).limits.payload == 10


def test_a_worker_without_a_key_says_so_when_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """BPC-026: not only when the first version is to be signed."""
    monkeypatch.delenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", raising=False)
    warn_of_key(Settings())
    assert "nothing can be signed yet" in capsys.readouterr().err
    monkeypatch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", base64.b64encode(bytes(32)).decode())
    warn_of_key(Settings())
    assert capsys.readouterr().err == ""


def test_models_lives_and_access_by_commands(cli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BPC-020, BPC-021, BPC-047: what the API does, commands do."""
    monkeypatch.setenv("BPC_PASSWORD", "battery staple")
    (cli / "bill.json").write_text(json.dumps(DOCUMENT))
    run("ingest", str(cli / "bill.json"), "--kind", "BOM", "--wait")
    [read] = run("inbox", "--json")
    [fact] = run("facts", read["id"], "--json")
    snapshot = run("snapshots", "create", "by hand", "--empty", "--json")
    added = run("snapshots", "add", snapshot["id"], "--fact", fact["id"], "--json")
    chosen = run("snapshots", "create", "by document", "--document", read["id"], "--json")
    assert (snapshot["facts"], added["added"], chosen["facts"]) == (0, 1, 1)
    run("snapshots", "seal", snapshot["id"])
    (cli / "r.rules").write_text(RULES)
    (cli / "r.tests").write_text(TESTS)
    rules = run("rules", "add", str(cli / "r.rules"), str(cli / "r.tests"), "--json")["id"]
    run("rules", "test", rules, "--wait")
    run("rules", "publish", rules)
    run("products", "add", "CLI-1", "--gtin", "4006381333931")
    unit = run("units", "add", "CLI-1", "S1", "--json")["id"]
    run("units", "renew", unit, "Repurposed", "S1-2")
    assert "has become S1-2" in run("compile", unit, code=1)
    assert run("compile", "--model", "CLI-1", "--wait", "--json")["status"] == "SUCCEEDED"
    assert [
        one["status"] for one in run("compile", "--model", "CLI-1", "--batteries", "--wait", "--json")
    ] == ["SUCCEEDED"]
    run("compile", unit, "--model", "CLI-1", code=1)

    token = run("tokens", "--tier", "recycler", "--name", "Scrap", "--days", "5", "--json")
    run("tokens", "revoke", token["id"])
    assert run("tokens", "list", "--json")[0]["revoked_at"]
    assert run("tokens", "log", "--json") == []
    run("api-key", "robot")
    [key] = run("api-keys", "list", "--json")
    run("api-keys", "revoke", key["id"])
    run("users", "add", "ada")
    run("users", "revoke", "ada")
    assert run("users", "list", "--json")[0]["revoked_at"]
    hook = run("webhooks", "add", "https://example.org/h", "--event", "QR_GENERATED", "--json")["id"]
    run("webhooks", "disable", hook)
    assert run("webhooks", "rotate", hook, "--json")["secret"]
    [listed] = run("webhooks", "list", "--json")
    assert (listed["events"], listed["active"]) == ("QR_GENERATED", False)
    run("webhooks", "enable", hook)
    assert run("webhooks", "deliveries", "--json") == []
    run("rules", "deprecate", rules)
    run("rules", "retire", rules)
    [public] = {one["public_key"] for one in run("keys", "--json")}
    run("audit", "sign")
    run("audit", "verify", "--key", public)
    assert "not trusted" in run("audit", "verify", "--key", "00" * 32, code=1)
    assert "hexadecimal" in run("audit", "verify", "--key", "xyz", code=1)
