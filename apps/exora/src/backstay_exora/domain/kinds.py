"""Which jobs are there, in which lane do they wait, and with which priority?"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from backstay_exora.domain import messages

DEFAULT_PRIORITY = 5
FAST_LANE_PAGES = 1
FAST_LANE_BYTES = 1_000_000
SIMPLE_LANE_TOKENS = 8_000
DEFAULT_TOKENS = 1_000


class JobType(StrEnum):
    """The eleven types."""

    SHELL_FILE_PROCESSING = "shell_file_processing"
    AI_PROCESSING = "ai_processing"
    DATA_MIGRATION = "data_migration"
    AUDIT_CLEANUP = "audit_cleanup"
    NOTIFICATION_DELIVERY = "notification_delivery"
    REPORT_GENERATION = "report_generation"
    BACKUP_OPERATION = "backup_operation"
    SYSTEM_MAINTENANCE = "system_maintenance"
    SEMANTIC_PROCESSING = "semantic_processing"
    CONSENT_VERIFICATION = "consent_verification"
    PROVIDER_VERIFICATION = "provider_verification"


class Lane(StrEnum):
    """The four lanes; a lane is a queue."""

    FAST = "fast_queue"
    STANDARD = "standard_queue"
    AI_SIMPLE = "ai_queue_simple"
    AI_COMPLEX = "ai_queue_complex"


class Category(StrEnum):
    """How a job is classed; not used for the order of claims."""

    CRITICAL = "critical"
    HIGH_PRIORITY = "high_priority"
    STANDARD = "standard"
    BACKGROUND = "background"
    MAINTENANCE = "maintenance"


LANES: Mapping[JobType, frozenset[Lane]] = MappingProxyType(
    {
        JobType.SHELL_FILE_PROCESSING: frozenset({Lane.FAST, Lane.STANDARD}),
        JobType.AI_PROCESSING: frozenset({Lane.AI_SIMPLE, Lane.AI_COMPLEX}),
    }
)
"""The lanes that a type must have one of; every other type has none."""


class Refused(ValueError):
    """A job that may not be enqueued; `code` names the rule."""

    def __init__(self, code: str, message: str, *, field: str) -> None:
        super().__init__(message)
        self.code, self.field = code, field


def check_type(job_type: str) -> JobType:
    """The type; raises `Refused` (TYPE_INVALID)."""
    try:
        return JobType(job_type)
    except ValueError:
        raise Refused("TYPE_INVALID", messages.unknown_type(job_type), field="job_type") from None


def check_category(category: str) -> Category:
    """The category; raises `Refused` (CATEGORY_INVALID)."""
    try:
        return Category(category)
    except ValueError:
        raise Refused("CATEGORY_INVALID", messages.unknown_category(category), field="job_category") from None


def check_lane(job_type: JobType, lane: str | None) -> Lane | None:
    """The lane if this type may have it; raises `Refused` (LANE_INVALID)."""
    allowed = LANES.get(job_type, frozenset())
    if lane is None and not allowed:
        return None
    for candidate in allowed:
        if lane == candidate:
            return candidate
    raise Refused("LANE_INVALID", messages.wrong_lane(job_type, lane, sorted(allowed)), field="job_lane")


def check_priority(priority: int) -> int:
    """The priority, 1 first; raises `Refused` (PRIORITY_INVALID)."""
    if not 1 <= priority <= 10:
        raise Refused("PRIORITY_INVALID", messages.wrong_priority(priority), field="priority")
    return priority


def file_lane(*, pages: int, size_bytes: int, is_picture: bool) -> Lane:
    """Small pictures of one page go fast; everything else takes the standard lane."""
    is_small = pages <= FAST_LANE_PAGES and size_bytes < FAST_LANE_BYTES
    return Lane.FAST if is_small and is_picture else Lane.STANDARD


def ai_lane(estimated_tokens: int) -> Lane:
    """Up to 8,000 tokens are simple."""
    return Lane.AI_SIMPLE if estimated_tokens <= SIMPLE_LANE_TOKENS else Lane.AI_COMPLEX


def default_lane(job_type: JobType) -> Lane | None:
    """The lane of a job whose sender named none."""
    match job_type:
        case JobType.AI_PROCESSING:
            return Lane.AI_SIMPLE
        case JobType.SHELL_FILE_PROCESSING:
            return Lane.STANDARD
        case _:
            return None


def document_priority(*, plan: str = "standard", is_urgent: bool = False) -> int:
    """Urgent documents first, then those of premium practices, then the rest."""
    if is_urgent:
        return 2
    return 3 if plan == "premium" else DEFAULT_PRIORITY
