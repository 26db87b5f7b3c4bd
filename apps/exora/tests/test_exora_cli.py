"""The command line, from an empty practice to an export."""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from backstay_exora.demo.letters import Letter, draw_letter
from backstay_exora.demo.people import Person, draw_practice
from conftest import Stage

Tell = Callable[..., Any]


@pytest.fixture
def tell(stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    """Run a command for one practice, and read the JSON that it prints."""
    from backstay_exora.cli import main

    stage.model.forget_faults()
    monkeypatch.setenv("EXORA_PRACTICE", f"cli-{token_hex(4)}")

    def run(*words: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["backstay-exora", *words, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert ended.value.code == 0, told.err + told.out
        return json.loads(told.out)

    return run


def _patient(tell: Tell, person: Person) -> str:
    options = [
        *("--gender", person.gender, "--address", person.address),
        *("--record-number", person.record_number, "--ihi", person.ihi),
    ]
    born = person.date_of_birth.isoformat()
    return str(tell("patients", "add", person.given_names, person.family_name, born, *options)["patient"])


def _upload(tell: Tell, folder: Path, letter: Letter, patient: str) -> Any:
    file = folder / letter.filename
    file.write_bytes(letter.content)
    return tell("upload", str(file), "--patient", patient, "--wait")


def test_a_letter_goes_from_upload_to_export(tell: Tell, tmp_path: Path) -> None:
    """EXO-027, EXO-030, EXO-039"""
    person = draw_practice(77)[0]
    tell("practices", "add", os.environ["EXORA_PRACTICE"], "A practice")
    tell("users", "add", f"rita-{token_hex(4)}", "a long password", "--role", "reviewer")
    assert tell("keys", "a program")["key"]
    patient = _patient(tell, person)
    assert [row["id"] for row in tell("patients", "list")] == [patient]
    letter = draw_letter(person, 821)

    sent = _upload(tell, tmp_path, letter, patient)

    assert (sent["is_new"], sent["status"]) == (True, "done")
    assert _upload(tell, tmp_path, letter, patient) == {**sent, "is_new": False}
    facts = tell("facts", patient)
    stored = {(fact["name"].lower(), fact["dose"]) for fact in facts if fact["kind"] == "medication"}
    assert stored == {(name.lower(), dose) for name, dose in letter.truth.medications}
    assert len(tell("document", sent["id"])["facts"]) == len(facts)
    kinds = [entry["resource"]["resourceType"] for entry in tell("export", patient)["entry"]]
    assert kinds.count("Provenance") == len(facts)
    withdrawn = tell("retract", sent["id"], "--reason", "not ours", "--by", "rita")["withdrawn"]
    assert withdrawn["patient_medications"] == len(letter.truth.medications)
    assert tell("facts", patient) == []
    assert [found["broken"] for found in tell("doctor")["findings"]] == [0] * 12


def test_an_unsure_reading_is_corrected(tell: Tell, tmp_path: Path) -> None:
    """EXO-029, EXO-030"""
    person = draw_practice(77)[0]
    tell("practices", "add", os.environ["EXORA_PRACTICE"], "A practice")
    patient = _patient(tell, person)
    letter = draw_letter(person, 823, kind="review")
    unclear = replace(
        letter, content=_printed([*letter.lines, "", "Metolazone 2.5 mg daily, or so he says."])
    )
    sent = _upload(tell, tmp_path, unclear, patient)
    (review,) = tell("reviews")

    reading = ("--name", "metolazone", "--dose", "5 mg")
    tell("decide", review["id"], "approve", "--reason", "rang him", "--by", "rita", *reading)

    facts = [fact for fact in tell("document", sent["id"])["facts"] if fact["name"] == "metolazone"]
    assert [(fact["dose"], fact["confidence"]) for fact in facts] == [("5 mg", 1.0)]
    assert tell("reviews") == []


def _printed(lines: Sequence[str]) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    for row, line in enumerate(lines):
        canvas.drawString(50, 800 - row * 17, line[:100])
    canvas.save()
    return buffer.getvalue()


def test_a_held_letter_is_decided_and_undone(tell: Tell, tmp_path: Path) -> None:
    """EXO-029"""
    person = draw_practice(77)[0]
    tell("practices", "add", os.environ["EXORA_PRACTICE"], "A practice")
    patient = _patient(tell, person)
    sent = _upload(tell, tmp_path, draw_letter(person, 822, plant="other address"), patient)
    assert sent["status"] == "needs_review"
    (review,) = tell("reviews")

    tell("decide", review["id"], "approve", "--reason", "moved house", "--by", "rita")

    deadline = time.monotonic() + 100
    while tell("document", sent["id"])["status"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.3)
    assert tell("facts", patient)
    assert tell("reviews") == []
    tell("undo", review["id"], "--reason", "not hers after all", "--by", "rita")
    assert tell("facts", patient) == []
    assert [row["id"] for row in tell("reviews")] == [review["id"]]
