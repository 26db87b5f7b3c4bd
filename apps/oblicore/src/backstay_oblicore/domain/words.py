"""The closed sets of words that rows, pages and messages share."""

from __future__ import annotations

from enum import StrEnum


class Frequency(StrEnum):
    """How often a duty comes round, in the words that are stored."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    QUARTERLY = "QUARTERLY"
    BIANNUAL = "BIANNUAL"
    ANNUAL = "ANNUAL"
    N_YEARLY = "N_YEARLY"
    HOURS_BASED = "HOURS_BASED"
    ONE_TIME = "ONE_TIME"
    CONTINUOUS = "CONTINUOUS"
    EVENT_TRIGGERED = "EVENT_TRIGGERED"


class ObligationStatus(StrEnum):
    """Where an obligation stands."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    DUE_SOON = "DUE_SOON"
    OVERDUE = "OVERDUE"
    COMPLETED = "COMPLETED"
    NOT_APPLICABLE = "NOT_APPLICABLE"


class DeadlineStatus(StrEnum):
    """Where one deadline of an obligation stands."""

    PENDING = "PENDING"
    DUE_SOON = "DUE_SOON"
    OVERDUE = "OVERDUE"
    COMPLETED = "COMPLETED"
    NOT_APPLICABLE = "NOT_APPLICABLE"


class ReviewStatus(StrEnum):
    """What a person has said about an extracted obligation."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    EDITED = "EDITED"
    REJECTED = "REJECTED"


class Category(StrEnum):
    """The kinds of duty that pages group by."""

    MONITORING = "MONITORING"
    REPORTING = "REPORTING"
    RECORD_KEEPING = "RECORD_KEEPING"
    OPERATIONAL = "OPERATIONAL"
    MAINTENANCE = "MAINTENANCE"


class ConditionType(StrEnum):
    """What sort of condition the duty comes from."""

    STANDARD = "STANDARD"
    LIMIT = "LIMIT"
    IMPROVEMENT = "IMPROVEMENT"
    PRE_OPERATIONAL = "PRE_OPERATIONAL"
    NOTIFICATION = "NOTIFICATION"


class Severity(StrEnum):
    """How loud a notification is."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"
    SUCCESS = "SUCCESS"


class Priority(StrEnum):
    """How soon a notification should be read."""

    NORMAL = "NORMAL"
    HIGH = "HIGH"
    URGENT = "URGENT"


class Channel(StrEnum):
    """The way a notification takes to its reader."""

    IN_APP = "IN_APP"
    EMAIL = "EMAIL"
    SMS = "SMS"
    PUSH = "PUSH"


class AlertType(StrEnum):
    """What a notification is about."""

    DEADLINE_ALERT = "DEADLINE_ALERT"
    EVIDENCE_REMINDER = "EVIDENCE_REMINDER"
    BREACH = "BREACH"
    SYSTEM = "SYSTEM"
    MODULE_ACTIVATION = "MODULE_ACTIVATION"
    EXCEEDANCE = "EXCEEDANCE"
    ESCALATION = "ESCALATION"


class Role(StrEnum):
    """What somebody may do in a company."""

    OWNER = "OWNER"
    ADMIN = "ADMIN"
    STAFF = "STAFF"
    CONSULTANT = "CONSULTANT"
    VIEWER = "VIEWER"


class Regulator(StrEnum):
    """Who regulates a site, which also says whose bank holidays count."""

    EA = "EA"
    SEPA = "SEPA"
    NRW = "NRW"
    NIEA = "NIEA"


class ReviewType(StrEnum):
    """Why a person has to look at something."""

    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    OCR_QUALITY = "OCR_QUALITY"
    NO_MATCH = "NO_MATCH"
    DATE_FAILURE = "DATE_FAILURE"
    DUPLICATE = "DUPLICATE"
    SUBJECTIVE = "SUBJECTIVE"
    CONFLICT = "CONFLICT"
    HALLUCINATION = "HALLUCINATION"
    EXTRACTION_FAILED = "EXTRACTION_FAILED"
    OPEN_SENTENCE = "OPEN_SENTENCE"


class ExtractionStatus(StrEnum):
    """How far reading a document has come."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    OCR_FAILED = "OCR_FAILED"
    EXTRACTION_FAILED = "EXTRACTION_FAILED"
    REVIEW_REQUIRED = "REVIEW_REQUIRED"
    ZERO_OBLIGATIONS = "ZERO_OBLIGATIONS"


class ImportStatus(StrEnum):
    """How far a register import has come."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    PENDING_REVIEW = "PENDING_REVIEW"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class PackType(StrEnum):
    """Whom a pack is made for."""

    AUDIT_PACK = "AUDIT_PACK"
    REGULATOR_INSPECTION = "REGULATOR_INSPECTION"
    TENDER_CLIENT_ASSURANCE = "TENDER_CLIENT_ASSURANCE"
    BOARD_MULTI_SITE_RISK = "BOARD_MULTI_SITE_RISK"
    INSURER_BROKER = "INSURER_BROKER"


MODULE_OF_TYPE = {
    "ENVIRONMENTAL_PERMIT": "MODULE_1",
    "TRADE_EFFLUENT_CONSENT": "MODULE_2",
    "MCPD_REGISTRATION": "MODULE_3",
}
"""Which module reads a type of document."""
