"""Passwords, kept as scrypt hashes of the standard library."""

from __future__ import annotations

import hashlib
import hmac

from backstay.kit.environment import random_bytes
from backstay.kit.signing import from_text, to_text

COST, BLOCK, LANES = 2**15, 8, 1
MOST_COST = 2**20
LONGEST_PASSWORD = 1024


def hash_password(password: str) -> str:
    """Return the text to store for a password: cost, salt and hash in one."""
    if not password:
        raise ValueError("an empty password cannot be stored")
    if len(password) > LONGEST_PASSWORD:
        raise ValueError(f"a password may have at most {LONGEST_PASSWORD} characters")
    salt = random_bytes(16)
    derived = _derive(password, salt, COST, BLOCK, LANES)
    return f"scrypt${COST}${BLOCK}${LANES}${to_text(salt)}${to_text(derived)}"


def password_matches(password: str, stored: str) -> bool:
    """Return True if `password` gave the stored hash; takes a tenth of a second, so call it in a thread.

    A stored text that is not one of ours matches nothing.
    """
    read = _read(stored)
    if read is None or len(password) > LONGEST_PASSWORD:
        return False
    cost, block, lanes, salt, derived = read
    return hmac.compare_digest(_derive(password, salt, cost, block, lanes), derived)


def needs_new_hash(stored: str) -> bool:
    """Return True if the hash was made with other costs than today's: store a new one at the next login."""
    read = _read(stored)
    return read is None or read[:3] != (COST, BLOCK, LANES)


def _derive(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    memory = 128 * cost * block * 2
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=block, p=lanes, maxmem=memory, dklen=32)


def _read(stored: str) -> tuple[int, int, int, bytes, bytes] | None:
    parts = stored.split("$")
    if len(parts) != 6 or parts[0] != "scrypt" or not all(part.isdecimal() for part in parts[1:4]):
        return None
    cost, block, lanes = (int(part) for part in parts[1:4])
    salt, derived = from_text(parts[4]), from_text(parts[5])
    if salt is None or derived is None or not 2 <= cost <= MOST_COST or cost & (cost - 1):
        return None
    if not 1 <= block <= 32 or not 1 <= lanes <= 16:
        return None
    return cost, block, lanes, salt, derived
