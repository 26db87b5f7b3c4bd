"""Which jobs are there, in which lane do they wait, and with which priority?"""

from enum import StrEnum
from typing import Literal

DEFAULT_PRIORITY = 5
FAST_LANE_PAGES = 1
FAST_LANE_BYTES = 1_000_000
SIMPLE_LANE_TOKENS = 8_000


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


FileLane = Literal["fast_queue", "standard_queue"]
AiLane = Literal["ai_queue_simple", "ai_queue_complex"]
"""The lanes that a type must have one of; every other type has none. The same stands in the database, in views.sql."""


def file_lane(*, pages: int, size_bytes: int, is_picture: bool) -> Lane:
    """Small pictures of one page go fast; everything else takes the standard lane."""
    is_small = pages <= FAST_LANE_PAGES and size_bytes < FAST_LANE_BYTES
    return Lane.FAST if is_small and is_picture else Lane.STANDARD


def ai_lane(estimated_tokens: int) -> Lane:
    """Up to 8,000 tokens are simple."""
    return Lane.AI_SIMPLE if estimated_tokens <= SIMPLE_LANE_TOKENS else Lane.AI_COMPLEX


def document_priority(*, plan: str = "standard", is_urgent: bool = False) -> int:
    """Urgent documents first, then those of premium practices, then the rest."""
    if is_urgent:
        return 2
    return 3 if plan == "premium" else DEFAULT_PRIORITY
