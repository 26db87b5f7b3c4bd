"""Our errors as answers of the API: which status each code has."""

from __future__ import annotations

from backstay.kit import Problem, not_found
from backstay_passport.domain.errors import PassportError

STATUSES = {
    "SNAPSHOT_NOT_READY": 409,
    "SNAPSHOT_INVALID_STATE": 409,
    "RULE_PKG_NOT_PUBLISHED": 409,
    "RULE_PKG_INVALID_STATUS": 409,
    "INVALID_PASSPORT_STATUS": 409,
    "EVENT_VERSION_CONFLICT": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "PROOF_TOO_LARGE": 413,
    "RECEIPT_TOO_LARGE": 413,
    "SIGNING_KEY_MISSING": 503,
    "INVALID_SIGNING_KEY": 503,
}


def problem_of(error: PassportError) -> Problem:
    """Return the answer to an error of ours."""
    if error.code == "NOT_FOUND":
        return not_found()
    pointer = error.details.get("pointer")
    return Problem(
        STATUSES.get(error.code, 422),
        error.code.lower(),
        error.message,
        pointer=str(pointer) if pointer else None,
    )
