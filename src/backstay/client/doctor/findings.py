"""What a finding of the doctor is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing: `code` never changes between releases, the texts may."""

    code: str
    severity: Severity
    title: str
    detail: str
    advice: str
    count: int = 1
