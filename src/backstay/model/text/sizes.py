"""How an amount of memory may be written: "512MB", "1.5GB", or a number of megabytes."""

from __future__ import annotations

import re

from backstay.errors import InvalidSettings

Size = int | float | str

_UNITS = {"": 1.0, "mb": 1.0, "mib": 1.0, "m": 1.0, "gb": 1024.0, "gib": 1024.0, "g": 1024.0}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


def megabytes(value: Size, *, field: str) -> int:
    """Read an amount of memory in megabytes of 1,048,576 bytes, or raise InvalidSettings naming `field`."""
    read = _WRITTEN.fullmatch(str(value))
    unit = None if read is None else _UNITS.get(read[2].lower())
    if read is None or unit is None or float(read[1]) * unit < 1:
        raise InvalidSettings(f'{field} is {value!r}: write an amount of memory such as "512MB" or "1.5GB"')
    return int(float(read[1]) * unit)
