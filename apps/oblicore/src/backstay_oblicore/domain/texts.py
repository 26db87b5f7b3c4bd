"""Every sentence that the application promises literally, each written once."""

from __future__ import annotations

from datetime import date

UNKNOWN_FREQUENCY = "Unknown frequency: {frequency}"
FILE_NOT_FOUND = "File not found"
DOCUMENT_ACCESS = "Document not found or access denied"

EVIDENCE_TITLE = "Evidence Required: {summary}"
EVIDENCE_MESSAGE = "Evidence is required for obligation due on {due}"

DOCUMENT_DONE_TITLE = "Document Processed Successfully"
DOCUMENT_DONE = '"{title}" has been processed. {count} obligations extracted.'
DOCUMENT_FLAGGED = " {flagged} items flagged for review."
DOCUMENT_FAILED_TITLE = "Document Processing Failed"
DOCUMENT_FAILED = 'Processing failed for "{title}". {error}'

MISSING_COLUMN = "Missing required column: {field}"
MISSING_PERMIT_NUMBER = "Missing permit_number"
MISSING_OBLIGATION_TITLE = "Missing obligation_title"
INVALID_DATE = "Invalid date format"
INVALID_FREQUENCY = "Invalid frequency value"
SITE_NOT_FOUND = "Site not found"
SITE_WILL_BE_CREATED = "Site will be created"
ASSIGNEE_NOT_FOUND = "Nobody of this name works here"
DUPLICATE_OBLIGATION = "Duplicate obligation"
PERMIT_NOT_FOUND = "Permit not found"
IMPORT_READY_TITLE = "Excel import ready for review"
IMPORT_READY = "Your Excel import is ready. {valid} valid rows, {errors} errors."
IMPORT_DONE_TITLE = "Excel import completed"
IMPORT_DONE = "{count} obligations imported successfully."
IMPORT_FAILED = "Excel import failed - {error}"

SAMPLE_TITLE = "Sample Due: {parameter}"
SAMPLE_MESSAGE = "Sampling is due for {parameter} at {site}"
SAMPLING_PROGRESS = "Processed {n}/{total} parameters"
SAMPLING_FAILED = "Sampling schedule job failed"
EXCEEDED_TITLE = "Limit Exceeded: {parameter}"
NEAR_LIMIT_TITLE = "Near Its Limit: {parameter}"
RESULT_MESSAGE = "{parameter} at {site} was {value} on {day}. {limit}"

RUN_HOURS_BREACHED = "Run-Hour Limit Breached"
RUN_HOURS_90 = "Run-Hour Limit 90% Reached"
RUN_HOURS_80 = "Run-Hour Limit 80% Warning"
RUN_HOURS_ANNUAL = (
    "Generator {identifier} has reached {percentage}% ({threshold}% threshold) of its annual "
    "{limit} hour limit. Year-to-date: {hours} hours."
)
RUN_HOURS_MONTHLY = (
    "Generator {identifier} has reached {percentage}% ({threshold}% threshold) of its monthly "
    "{limit} hour limit. Month-to-date: {hours} hours."
)
RUN_HOURS_PROGRESS = "Checked {n}/{total} generators, {breaches} threshold breaches"
RUN_HOURS_FAILED = "Run-hour monitoring job failed"

AER_PROGRESS = "Processing generator {n}/{total}"
AER_DONE = "AER generated successfully for period {start} - {end}"
AER_FAILED = "AER generation failed"

RENEWAL_TITLE = "{days} Days: {title} Renewal"
RENEWAL_MESSAGE = "Your {document_type} ({number}) expires on {expiry}. Please initiate renewal process."
RENEWAL_MESSAGE_UNNUMBERED = "Your {document_type} expires on {expiry}. Please initiate renewal process."
RENEWAL_FAILED = "Permit renewal reminder job failed"

CROSS_SELL_PROGRESS = "Scanned {n}/{total} documents, {triggers} triggers created"
CROSS_SELL_TITLE = "Module Suggestion: {module}"
CROSS_SELL_MESSAGE = (
    "We detected references to {keyword} in your permit. Would you like to activate {module}?"
)

BOARD_HAS_SITE = "Board Pack must have site_id = null"
BOARD_NEEDS_COMPANY = "Board Pack requires company_id"
BOARD_NEEDS_ROLE = "Board Pack requires Owner or Admin role"
PACK_NEEDS_SITE = "{pack_type} requires site_id"
PACK_NEEDS_COMPANY = "{pack_type} requires company_id"
PACK_NEEDS_DOCUMENT = "{pack_type} requires document_id"
PACK_PROGRESS = "Processing obligation {n}/{total}, evidence {m}/{files}"
PACK_DONE_TITLE = "Audit Pack Generated Successfully"
PACK_DONE = "Your audit pack for {title} ({start} - {end}) is ready."
PACK_FAILED_TITLE = "Pack Generation Failed"
PACK_FAILED = "Failed to generate {pack_type} pack. Error: {error}"
PACK_FAILED_BOARD = (
    "Board Pack generation failed: {error}. Ensure company_id is provided and site_id is null."
)
PACK_FAILED_OTHER = "Pack generation failed: {error}. Ensure site_id is provided."
PACK_FOOTER = "Generated: {date}"

JOB_FAILED_TITLE = "Background Job Failed: {job_type}"
JOB_FAILED = (
    "The {job_type} job failed after {retries} retries. Error: {error}. "
    "Please check the admin dashboard for details."
)
JOB_NOT_FOUND = "Job not found: {id}"


def document_done(title: str, *, count: int, flagged: int) -> str:
    """Tell the uploader what came out of a document."""
    text = DOCUMENT_DONE.format(title=title, count=count)
    return text + DOCUMENT_FLAGGED.format(flagged=flagged) if flagged else text


def renewal_message(document_type: str, *, number: str | None, expiry: date) -> str:
    """Ask for a renewal; a document without a number still gets a whole sentence."""
    if number:
        return RENEWAL_MESSAGE.format(document_type=document_type, number=number, expiry=expiry)
    return RENEWAL_MESSAGE_UNNUMBERED.format(document_type=document_type, expiry=expiry)


def pack_failed(pack_type: str, *, error: str, is_validation: bool) -> str:
    """Say why a pack failed; the hint about ids only where wrong ids were the reason."""
    if not is_validation:
        return PACK_FAILED.format(pack_type=pack_type, error=error)
    template = PACK_FAILED_BOARD if pack_type == "BOARD_MULTI_SITE_RISK" else PACK_FAILED_OTHER
    return template.format(error=error)
