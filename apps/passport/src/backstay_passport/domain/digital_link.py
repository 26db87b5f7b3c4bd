"""GS1 Digital Link: the address on a battery's label, and the numbers in it."""

from __future__ import annotations

import re
from urllib.parse import quote

from backstay_passport.domain.errors import InvalidInput

GTIN_LENGTHS = (8, 12, 13, 14)
# AI 21 allows 20 characters of GS1 set 82.
_SERIAL = re.compile(r"""[!"%&'()*+,\-./0-9:;<=>?A-Z_a-z]{1,20}""")


def check_gtin(gtin: str) -> str:
    """Return a GTIN as 14 digits; refuse another length or a wrong check digit."""
    if not gtin.isascii() or not gtin.isdigit() or len(gtin) not in GTIN_LENGTHS:
        raise InvalidInput(f"{gtin!r} is not a GTIN: 8, 12, 13 or 14 digits")
    padded = gtin.zfill(14)
    if check_digit(padded[:-1]) != padded[-1]:
        raise InvalidInput(f"the check digit of {gtin} should be {check_digit(padded[:-1])}")
    return padded


def check_digit(digits: str) -> str:
    """Return the GS1 check digit of the digits before it."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def check_serial(serial: str) -> str:
    """Return a serial number if a GS1 label can carry it."""
    # A part of an address that is only dots leads elsewhere: browsers and servers take it out.
    if not _SERIAL.fullmatch(serial) or not serial.strip("."):
        raise InvalidInput(
            f"{serial!r} is not a serial number: 1 to 20 characters of the GS1 set, no spaces, not only dots"
        )
    return serial


def label_url(base_url: str, gtin: str, serial: str | None) -> str:
    """Return the address that a label's code opens."""
    path = f"/01/{check_gtin(gtin)}"
    if serial is not None:
        path += f"/21/{quote(check_serial(serial), safe='')}"
    return base_url.rstrip("/") + path
