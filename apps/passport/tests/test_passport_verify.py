"""Verification names what broke; replay gives the same hashes; chains show every change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from passport_examples import KEY, signed

from backstay_passport.domain.bundle import (
    bundle_artifacts,
    holder_bundle,
    public_bundle,
    read_zip,
    write_zip,
)
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import CompileInput
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import (
    ChainEnd,
    Event,
    NewEvent,
    chain,
    chain_problems,
    head_problems,
    tree_head,
)
from backstay_passport.domain.fields import LEAVES
from backstay_passport.domain.replay import replay
from backstay_passport.domain.signing import key_from_seed
from backstay_passport.domain.tiers import AUDIENCES, Tier, audience, tier_of
from backstay_passport.domain.verify import Artifacts, holds, verify


def altered(content: bytes, change: Callable[[Any], None]) -> bytes:
    """Canonical bytes after a change."""
    value = parse(content)
    change(value)
    return encode(value)


def set_mass(payload: Any) -> None:
    """Claim another mass."""
    payload["submodels"]["GeneralProductInformation"]["batteryMass"] = "1"


def broken(artifacts: Artifacts) -> dict[str, str]:
    """The checks that do not hold."""
    return {check.name: check.detail for check in verify(artifacts) if not check.ok}


def test_a_true_version_passes_every_check(compile_input: CompileInput) -> None:
    """BPC-033: all checks hold."""
    _, artifacts = signed(compile_input)
    checks = verify(artifacts)
    assert [check.name for check in checks] == [
        "signature",
        "payload hash",
        "form",
        "identity",
        "proof root",
        "fields",
        "code",
    ]
    assert holds(checks)


def test_a_changed_value_is_named(compile_input: CompileInput) -> None:
    """BPC-033: the field that was altered is named."""
    _, artifacts = signed(compile_input)
    found = broken(replace(artifacts, payload=altered(artifacts.payload, set_mass)))
    assert set(found) == {"payload hash", "fields"}
    assert "GeneralProductInformation.batteryMass" in found["fields"]


def test_one_byte_anywhere_breaks_something(compile_input: CompileInput) -> None:
    """BPC-033: no byte of any artifact can be changed unseen."""
    _, artifacts = signed(compile_input)
    for name in ("payload", "receipt", "signature", "public_key"):
        content = bytearray(getattr(artifacts, name))
        for place in range(0, len(content), 97 if len(content) > 100 else 7):
            changed = bytearray(content)
            changed[place] ^= 1
            assert broken(replace(artifacts, **{name: bytes(changed)})), (name, place)


def test_each_tampering_is_named(compile_input: CompileInput) -> None:
    """BPC-033: signature, proof, identity and code."""
    _, artifacts = signed(compile_input)
    other = key_from_seed(b"o" * 32, "other")
    assert set(broken(replace(artifacts, public_key=other.public))) == {"signature"}
    assert set(broken(replace(artifacts, signature=None))) == {"signature"}
    assert artifacts.qr_text is not None
    wrong = artifacts.qr_text.replace("|ph=", "|ph=A", 1)[:212]
    assert set(broken(replace(artifacts, qr_text=wrong))) == {"code"}

    def open_other(proof: Any) -> None:
        proof["leaves"][3]["rule"] = "other"

    assert set(broken(replace(artifacts, proof=altered(artifacts.proof, open_other)))) == {"proof root"}

    def drop_field(payload: Any) -> None:
        del payload["submodels"]["Labeling"]["labels"]

    found = broken(replace(artifacts, payload=altered(artifacts.payload, drop_field)))
    assert "Labeling.labels: has a leaf, but is not in the payload" in found["fields"]

    def add_field(payload: Any) -> None:
        payload["submodels"]["Labeling"]["extra"] = "x"

    found = broken(replace(artifacts, payload=altered(artifacts.payload, add_field)))
    assert "Labeling.extra: is in the payload, but has no leaf" in found["fields"]


def test_every_code_character_matters(compile_input: CompileInput) -> None:
    """BPC-033: a changed character fails, wherever it stands."""
    _, artifacts = signed(compile_input)
    text = artifacts.qr_text
    assert text is not None
    for place in range(len(text)):
        changed = text[:place] + ("B" if text[place] != "B" else "C") + text[place + 1 :]
        assert "code" in broken(replace(artifacts, qr_text=changed)), place


@pytest.mark.parametrize("name", sorted(AUDIENCES))
def test_a_disclosed_bundle_verifies_and_hides_the_rest(name: str, compile_input: CompileInput) -> None:
    """BPC-021: selective disclosure under the same root."""
    _, artifacts = signed(compile_input)
    bundle = read_zip(write_zip(public_bundle(artifacts, KEY.key_id, audience(name))))
    assert holds(verify(bundle_artifacts(bundle)))
    shown = bundle.files["payload.json"] + bundle.files["proof.json"]
    payload = bundle.json("payload.json")["submodels"]
    assert b"salt" not in bundle.files["payload.json"]
    assert ("batteryStatus" in payload["GeneralProductInformation"]) == (Tier.INTEREST_UNIT in audience(name))
    assert (b"test-report.pdf" in shown) == (Tier.AUTHORITY in audience(name))
    assert (b"dismantling.pdf" in shown) == (Tier.INTEREST_MODEL in audience(name))
    assert b"snapshot_secret" not in b"".join(bundle.files.values())


def test_no_field_of_another_tier_is_in_a_public_bundle(compile_input: CompileInput) -> None:
    """BPC-021: generated from the table of tiers, for every field."""
    _, artifacts = signed(compile_input)
    submodels = public_bundle(artifacts, KEY.key_id, audience("public")).json("payload.json")["submodels"]
    for entry in LEAVES:
        place: Any = submodels
        for part in entry.path.split("."):
            place = place.get(part) if isinstance(place, dict) else (place[0].get(part) if place else None)
            if place is None:
                break
        assert (place is None) or tier_of(entry.path) == Tier.PUBLIC, entry.path


def test_a_public_bundle_with_a_changed_value_does_not_verify(compile_input: CompileInput) -> None:
    """BPC-033: disclosure protects too."""
    _, artifacts = signed(compile_input)
    shown = bundle_artifacts(public_bundle(artifacts, KEY.key_id, audience("public")))
    found = broken(replace(shown, payload=altered(shown.payload, set_mass)))
    assert "GeneralProductInformation.batteryMass" in found["fields"]


def test_replay_gives_the_same_three_hashes(compile_input: CompileInput) -> None:
    """BPC-018: a holder's bundle is recomputed byte for byte."""
    _, artifacts = signed(compile_input)
    content = write_zip(holder_bundle(artifacts, KEY.key_id, compile_input))
    assert content == write_zip(holder_bundle(artifacts, KEY.key_id, compile_input))
    compared = replay(read_zip(content))
    assert [one.name for one in compared] == ["payload hash", "proof root hash", "receipt hash"]
    assert all(one.equal for one in compared)


def test_replay_shows_a_changed_fact(compile_input: CompileInput) -> None:
    """BPC-018: another fact gives other hashes."""
    _, artifacts = signed(compile_input)
    bundle = holder_bundle(artifacts, KEY.key_id, compile_input)

    def change(facts: Any) -> None:
        for fact in facts:
            if fact["type"] == "Battery":
                fact["payload"]["mass_kg"] = "400"

    files = {**bundle.files, "facts.json": altered(bundle.files["facts.json"], change)}
    assert not any(one.equal for one in replay(replace(bundle, files=files)))


def test_a_public_bundle_cannot_be_replayed_and_other_files_are_refused(compile_input: CompileInput) -> None:
    """BPC-018: clear refusals."""
    _, artifacts = signed(compile_input)
    with pytest.raises(InvalidInput, match="verified, not recomputed"):
        replay(public_bundle(artifacts, KEY.key_id, audience("public")))
    for content in (b"", b"PK\x03\x04 broken", b"hello"):
        with pytest.raises(InvalidInput, match="not a passport bundle"):
            read_zip(content)


def make_chain(count: int, aggregate_id: str = "a") -> list[Event]:
    """Events of one aggregate."""
    events: list[Event] = []
    for number in range(count):
        previous = (events[-1].aggregate_version, events[-1].hash) if events else None
        new = NewEvent("PassportVersion", aggregate_id, "TOLD", {"number": number})
        events.append(
            chain(
                new,
                event_id=f"{aggregate_id}{number}",
                tenant_id="t",
                occurred_at="2026-01-01T00:00:00Z",
                previous=previous,
            )
        )
    return events


def test_a_whole_chain_has_no_problems_in_any_order() -> None:
    """BPC-043: verification does not depend on the order of reading."""
    assert chain_problems([*reversed(make_chain(5)), *make_chain(3, "b")]) == []


def test_edit_delete_and_reorder_are_detected() -> None:
    """BPC-043: what was done is named."""
    events = make_chain(5)
    edited = [*events[:2], replace(events[2], payload_canonical=b"{}"), *events[3:]]
    assert "event 3 (TOLD): was altered" in chain_problems(edited)[0]
    assert "event 3 of this chain is missing" in chain_problems([*events[:2], *events[3:]])[0]
    swapped = [replace(events[1], aggregate_version=3), replace(events[2], aggregate_version=2)]
    assert chain_problems([events[0], *swapped, *events[3:]])


def test_a_signed_head_shows_a_missing_chain() -> None:
    """BPC-043: deleting everything about one thing shows too."""
    events = [*make_chain(3), *make_chain(2, "b")]
    ends = [
        ChainEnd(one.aggregate_type, one.aggregate_id, one.aggregate_version, one.hash)
        for one in (events[2], events[4])
    ]
    assert tree_head(ends) == tree_head(ends[::-1])
    assert tree_head(ends) != tree_head(ends[:1])
    assert head_problems(ends, events) == []
    assert "b: event 2 was there" in head_problems(ends, events[:3])[0]
