"""Signatures that other libraries verify, and codes that a real reader reads."""

from __future__ import annotations

import base64
import io
import re
import subprocess
from pathlib import Path

import nacl.signing
import pytest
import zxingcpp
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from PIL import Image

from backstay_passport.domain.digital_link import check_gtin, check_serial, label_url
from backstay_passport.domain.errors import InvalidInput, InvalidSigningKey, QrEncodeFailed, SigningKeyMissing
from backstay_passport.domain.hashing import base32_no_pad
from backstay_passport.domain.qr import QrContent, qr_png, read_qr_text
from backstay_passport.domain.signing import is_signed_by, key_from_seed, read_key, require_key_id

HASH = bytes(range(32))
CONTENT = QrContent("018f0000-0000-7000-8000-000000000002", HASH, HASH[::-1], bytes(32))


def test_a_signature_is_verified_by_another_library() -> None:
    """BPC-027, TC-P5-02: PyNaCl agrees, and a changed hash does not pass."""
    key = key_from_seed(bytes(32), "k1")
    signature = key.sign(HASH)
    assert nacl.signing.VerifyKey(key.public).verify(HASH, signature) == HASH
    assert is_signed_by(key.public, HASH, signature)
    assert not is_signed_by(key.public, HASH[:-1] + b"x", signature)
    assert not is_signed_by(key.public[:-1], HASH, signature)


def test_openssl_verifies_a_signature(tmp_path: Path) -> None:
    """BPC-027: a tool without our code verifies."""
    key = key_from_seed(b"s" * 32, "k1")
    pem = Ed25519PublicKey.from_public_bytes(key.public).public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "hash").write_bytes(HASH)
    (tmp_path / "signature").write_bytes(key.sign(HASH))
    done = subprocess.run(
        [
            "openssl",
            "pkeyutl",
            "-verify",
            "-pubin",
            "-inkey",
            "key.pem",
            "-rawin",
            "-in",
            "hash",
            "-sigfile",
            "signature",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_vector_of_rfc_8032() -> None:
    """BPC-027: test 2 of RFC 8032."""
    seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    key = key_from_seed(seed, "rfc")
    assert key.public.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    assert key.sign(b"\x72").hex().startswith("92a009a9f0d4cab8720e820b5f642540")


@pytest.mark.parametrize("length", [32, 64])
def test_a_key_may_be_a_seed_or_seed_and_public_key(length: int) -> None:
    """BPC-026: both encodings."""
    seed = bytes(range(32))
    whole = seed + key_from_seed(seed, "x").public
    key = read_key(base64.b64encode(whole[:length]).decode(), "k")
    assert key.public == key_from_seed(seed, "x").public


@pytest.mark.parametrize(
    ("encoded", "error"),
    [
        (None, SigningKeyMissing),
        ("", SigningKeyMissing),
        ("not base64!", InvalidSigningKey),
        (base64.b64encode(bytes(31)).decode(), InvalidSigningKey),
        (base64.b64encode(bytes(64)).decode(), InvalidSigningKey),
    ],
)
def test_a_missing_or_wrong_key_is_refused(encoded: str | None, error: type[Exception]) -> None:
    """BPC-026, TC-P5-03, TC-P5-04: the errors of the key."""
    with pytest.raises(error):
        read_key(encoded, "k")


def test_a_receipt_is_signed_by_the_key_that_it_names_only() -> None:
    """BPC-029: another key id is refused."""
    with pytest.raises(InvalidSigningKey) as caught:
        require_key_id("key-1", "key-2")
    assert caught.value.details == {"expected": "key-1", "actual": "key-2"}


def test_the_key_is_not_shown() -> None:
    """BPC-028: nothing prints the private half."""
    seed = b"\x17" * 32
    assert base64.b64encode(seed).decode() not in repr(key_from_seed(seed, "k"))
    with pytest.raises(InvalidSigningKey) as caught:
        read_key("c2VjcmV0", "k")
    assert "c2VjcmV0" not in str(caught.value)


def test_the_text_has_212_characters_in_a_fixed_order() -> None:
    """BPC-030, TC-P6-02, TC-P6-04: form, order, no padding."""
    text = CONTENT.text()
    assert len(text) == 212
    assert re.fullmatch(r"BPC1\|pv=[0-9a-f-]{36}\|ph=[A-Z2-7]{52}\|pr=[A-Z2-7]{52}\|rh=[A-Z2-7]{52}", text)
    assert f"ph={base32_no_pad(HASH)}" in text
    assert read_qr_text(text) == CONTENT


@pytest.mark.parametrize(
    "text", ["", "BPC2|pv=", CONTENT.text()[:-1], CONTENT.text() + "|x=1", CONTENT.text().lower()]
)
def test_other_texts_are_refused(text: str) -> None:
    """BPC-033: what is not BPC-QR-1 is said so."""
    with pytest.raises(InvalidInput):
        read_qr_text(text)


def test_the_picture_is_650_pixels_wide_and_always_the_same() -> None:
    """BPC-031, TC-P6-01: version 10-M, 57 modules and a quiet zone of four, ten pixels each."""
    picture = qr_png(CONTENT.text())
    assert Image.open(io.BytesIO(picture)).size == (650, 650)
    assert picture == qr_png(CONTENT.text())


def _decoded(picture: Image.Image) -> str:
    [found] = zxingcpp.read_barcodes(picture)
    return str(found.text)


@pytest.mark.parametrize("size", [120, 180, 240, 400, 650])
@pytest.mark.parametrize("degrees", [-7, 0, 7])
def test_a_reader_reads_the_code_scaled_turned_and_compressed(size: int, degrees: int) -> None:
    """BPC-031, TC-P6-03: scaling, rotation and JPEG."""
    picture = Image.open(io.BytesIO(qr_png(CONTENT.text()))).convert("L").resize((size, size))
    picture = picture.rotate(degrees, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC)
    squeezed = io.BytesIO()
    picture.save(squeezed, "JPEG", quality=25)
    assert _decoded(Image.open(squeezed)) == CONTENT.text()


@pytest.mark.parametrize(("degrees", "quality"), [(0, 25), (-7, 60), (7, 60)])
def test_a_reader_reads_the_code_in_a_hundred_pixels(degrees: int, quality: int) -> None:
    """BPC-031, TC-P6-03: a pixel and a half for each module, squeezed or turned."""
    picture = Image.open(io.BytesIO(qr_png(CONTENT.text()))).convert("L").resize((100, 100))
    picture = picture.rotate(degrees, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC)
    squeezed = io.BytesIO()
    picture.save(squeezed, "JPEG", quality=quality)
    assert _decoded(Image.open(squeezed)) == CONTENT.text()


def test_a_reader_reads_the_code_on_black() -> None:
    """BPC-031: the quiet zone is part of the picture."""
    ground = Image.new("L", (900, 900), 0)
    ground.paste(Image.open(io.BytesIO(qr_png(CONTENT.text()))).convert("L"), (125, 125))
    assert _decoded(ground) == CONTENT.text()


def test_a_text_that_is_too_long_is_refused() -> None:
    """BPC-052: QR_ENCODE_FAILED."""
    with pytest.raises(QrEncodeFailed):
        qr_png("x" * 5000)


def test_a_label_is_a_gs1_digital_link() -> None:
    """BPC-030: GTIN with check digit, serial number escaped."""
    assert (
        label_url("https://id.example/", "4006381333931", "A/1")
        == "https://id.example/01/04006381333931/21/A%2F1"
    )
    with pytest.raises(InvalidInput, match="should be 1"):
        check_gtin("4006381333932")
    for serial in ("", "x" * 21, "a b", "ä"):
        with pytest.raises(InvalidInput):
            check_serial(serial)
