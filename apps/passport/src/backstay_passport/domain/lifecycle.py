"""The statuses of documents, rule packages and passport versions, and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from backstay_passport.domain.errors import InvalidPassportStatus, InvalidRuleStatus


class DocumentStatus(StrEnum):
    """Where a document version stands."""

    UPLOADED = "UPLOADED"
    PARSED = "PARSED"
    VALIDATED = "VALIDATED"
    REJECTED = "REJECTED"


class RuleStatus(StrEnum):
    """Where a rule package version stands."""

    DRAFT = "DRAFT"
    VALIDATED = "VALIDATED"
    PUBLISHED = "PUBLISHED"
    DEPRECATED = "DEPRECATED"
    RETIRED = "RETIRED"


class PassportStatus(StrEnum):
    """Where a passport version stands."""

    COMPILING = "COMPILING"
    SIGNED = "SIGNED"
    ACTIVE = "ACTIVE"
    SUPERSEDED = "SUPERSEDED"
    REVOKED = "REVOKED"


RULE_ARROWS: Mapping[RuleStatus, frozenset[RuleStatus]] = {
    RuleStatus.DRAFT: frozenset({RuleStatus.VALIDATED}),
    RuleStatus.VALIDATED: frozenset({RuleStatus.DRAFT, RuleStatus.PUBLISHED}),
    RuleStatus.PUBLISHED: frozenset({RuleStatus.DEPRECATED}),
    RuleStatus.DEPRECATED: frozenset({RuleStatus.RETIRED}),
    RuleStatus.RETIRED: frozenset(),
}
PASSPORT_ARROWS: Mapping[PassportStatus, frozenset[PassportStatus]] = {
    PassportStatus.COMPILING: frozenset({PassportStatus.SIGNED}),
    PassportStatus.SIGNED: frozenset({PassportStatus.ACTIVE, PassportStatus.REVOKED}),
    PassportStatus.ACTIVE: frozenset({PassportStatus.SUPERSEDED, PassportStatus.REVOKED}),
    PassportStatus.SUPERSEDED: frozenset({PassportStatus.REVOKED}),
    PassportStatus.REVOKED: frozenset(),
}


def require_passport_status(version_id: str, actual: str, expected: PassportStatus) -> None:
    """Refuse a passport version that is not in the expected status."""
    if actual != expected:
        raise InvalidPassportStatus(version_id, expected, actual)


EXPORTABLE = (PassportStatus.SIGNED, PassportStatus.ACTIVE, PassportStatus.SUPERSEDED)


def require_exportable(version_id: str, actual: str) -> None:
    """Refuse to export a version that is not signed yet, or not valid any more."""
    if actual not in EXPORTABLE:
        raise InvalidPassportStatus(version_id, " or ".join(EXPORTABLE), actual)


def check_passport_move(version_id: str, current: str, wanted: PassportStatus) -> None:
    """Refuse a move that no arrow allows."""
    if wanted not in PASSPORT_ARROWS[PassportStatus(current)]:
        sources = [status for status, targets in PASSPORT_ARROWS.items() if wanted in targets]
        raise InvalidPassportStatus(version_id, " or ".join(sources), current)


def check_rule_move(version_id: str, current: str, wanted: RuleStatus) -> None:
    """Refuse a move that no arrow allows."""
    if wanted not in RULE_ARROWS[RuleStatus(current)]:
        sources = [status for status, targets in RULE_ARROWS.items() if wanted in targets]
        raise InvalidRuleStatus(version_id, " or ".join(sources), current)


def rule_status_after_tests(current: str, *, passed: bool) -> RuleStatus:
    """Return the status after a test run: only drafts and validated versions move."""
    status = RuleStatus(current)
    if status == RuleStatus.DRAFT and passed:
        return RuleStatus.VALIDATED
    if status == RuleStatus.VALIDATED and not passed:
        return RuleStatus.DRAFT
    return status
