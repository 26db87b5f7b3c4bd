"""Whether a piece of evidence is still the file that was filed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What is wrong with a file of evidence."""

    MISSING_FILE = "MISSING_FILE"
    SIZE_MISMATCH = "SIZE_MISMATCH"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    HASH_MISMATCH = "HASH_MISMATCH"


@dataclass(frozen=True)
class Filed:
    """What the register says about a file."""

    evidence_id: str
    file_name: str
    size: int | None
    mime_type: str | None
    sha256: str | None


@dataclass(frozen=True)
class Found:
    """What storage says about it."""

    size: int
    mime_type: str | None
    sha256: str | None


@dataclass(frozen=True)
class Check:
    """The result for one file."""

    evidence_id: str
    file_name: str
    file_exists: bool
    metadata_valid: bool
    hash_valid: bool
    fault: Fault | None

    @property
    def status(self) -> str:
        """VALID only if everything holds, the hash included."""
        return "VALID" if self.fault is None else "INTEGRITY_ERROR"

    def as_json(self) -> dict[str, object]:
        """Write the result in the agreed shape."""
        return {
            "evidence_id": self.evidence_id,
            "file_exists": self.file_exists,
            "metadata_valid": self.metadata_valid,
            "hash_valid": self.hash_valid,
            "status": self.status,
        }


def check(filed: Filed, found: Found | None) -> Check:
    """Compare a file with its register entry; `found` is none only if storage says that it is absent."""
    if found is None:
        return Check(filed.evidence_id, filed.file_name, False, False, False, Fault.MISSING_FILE)
    size_holds = filed.size is None or filed.size == found.size
    type_holds = filed.mime_type is None or filed.mime_type == found.mime_type
    hash_holds = filed.sha256 is None or filed.sha256 == found.sha256
    fault = None
    if not size_holds:
        fault = Fault.SIZE_MISMATCH
    elif not type_holds:
        fault = Fault.TYPE_MISMATCH
    elif not hash_holds:
        fault = Fault.HASH_MISMATCH
    return Check(filed.evidence_id, filed.file_name, True, size_holds and type_holds, hash_holds, fault)


def integrity_report(checks: Iterable[Check]) -> dict[str, object]:
    """Sum the checks up for the pack and its readers."""
    all_checks = list(checks)
    errors = [
        {"evidence_id": one.evidence_id, "file_name": one.file_name, "error_type": one.fault.value}
        for one in all_checks
        if one.fault is not None
    ]
    return {
        "total_checked": len(all_checks),
        "valid_count": len(all_checks) - len(errors),
        "error_count": len(errors),
        "errors": errors,
    }
