"""The thirteen job types with their numbers, in one table."""

from __future__ import annotations

from dataclasses import dataclass

from backstay_oblicore.domain.words import Severity

PRIORITIES = {"HIGH": 2, "NORMAL": 5, "LOW": 8}
LARGE_PAGES = 50
LARGE_BYTES = 10_000_000
STANDARD_SECONDS = 30
LARGE_SECONDS = 300


@dataclass(frozen=True)
class JobType:
    """One type: where it waits, when it fires, how long it may take, who hears of its death."""

    name: str
    queue: str
    priority: str
    cron: str | None
    timeout_seconds: int
    max_retries: int
    heartbeat_seconds: int
    failure_severity: Severity
    told: str  # admins | requester | nobody
    description: str


JOB_TYPES = {
    job.name: job
    for job in (
        JobType("MONITORING_SCHEDULE", "monitoring-schedule", "NORMAL", "0 * * * *", 300, 2, 60,
                Severity.ERROR, "admins", "Reckons due dates, writes deadlines, moves statuses on"),
        JobType("DEADLINE_ALERT", "deadline-alerts", "HIGH", "0 */6 * * *", 120, 2, 60,
                Severity.CRITICAL, "admins", "Tells people of deadlines that come near or have passed"),
        JobType("EVIDENCE_REMINDER", "evidence-reminders", "HIGH", "0 9 * * *", 120, 2, 60,
                Severity.WARNING, "admins", "Asks for evidence where none is linked"),
        JobType("DOCUMENT_PROCESSING", "document-processing", "NORMAL", None, 300, 2, 60,
                Severity.WARNING, "requester", "Reads a permit and writes down its obligations"),
        JobType("EXCEL_IMPORT_PROCESSING", "document-processing", "NORMAL", None, 300, 2, 30,
                Severity.ERROR, "requester", "Checks a register, then creates its obligations"),
        JobType("SAMPLING_SCHEDULE", "module-2-sampling", "NORMAL", "0 6 * * *", 300, 2, 60,
                Severity.ERROR, "admins", "Reminds of samples that consents ask for"),
        JobType("RUN_HOUR_MONITORING", "module-3-run-hours", "NORMAL", "0 7 * * *", 300, 2, 60,
                Severity.ERROR, "admins", "Compares running hours with their limits"),
        JobType("AER_GENERATION", "aer-generation", "NORMAL", "0 8 15 1 *", 600, 2, 60,
                Severity.ERROR, "requester", "Draws up the annual emissions report"),
        JobType("PERMIT_RENEWAL_REMINDER", "deadline-alerts", "NORMAL", "0 8 * * *", 300, 2, 60,
                Severity.WARNING, "admins", "Reminds of documents that expire"),
        JobType("CROSS_SELL_TRIGGER_DETECTION", "cross-sell-triggers", "LOW", "0 */6 * * *", 300, 2, 60,
                Severity.INFO, "nobody", "Finds words that suggest another module"),
        JobType("AUDIT_PACK_GENERATION", "audit-pack-generation", "NORMAL", None, 600, 2, 60,
                Severity.ERROR, "requester", "Puts a pack together with its integrity report"),
        JobType("PACK_DISTRIBUTION", "pack-distribution", "NORMAL", None, 300, 2, 60,
                Severity.ERROR, "requester", "Sends a pack by mail or shares a link to it"),
        JobType("CONSULTANT_CLIENT_SYNC", "consultant-sync", "LOW", "0 2 * * *", 600, 1, 60,
                Severity.WARNING, "admins", "Keeps consultants' portfolios up to date"),
    )
}  # fmt: skip


def is_large(*, pages: int, size: int) -> bool:
    """Say whether a document gets the long time limit."""
    return pages >= LARGE_PAGES or size >= LARGE_BYTES


def model_seconds(*, pages: int, size: int) -> int:
    """Return how long one model call (and a native document) may take."""
    return LARGE_SECONDS if is_large(pages=pages, size=size) else STANDARD_SECONDS
