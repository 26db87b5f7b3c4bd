"""Every sentence that users, reviewers and error details read; each stands here once."""

import json
from collections.abc import Mapping


def pass_name(number: int, filename: str) -> str:
    return f"Pass {number}: {filename}"


def file_job_name(filename: str) -> str:
    return f"Process {filename}"


def pass_failed(number: int, what: str, details: Mapping[str, object]) -> str:
    """The form of the audit's sample: the reason, then the details as JSON."""
    return f"Pass {number} processing failed: {what}. Details: {json.dumps(dict(details), separators=(',', ':'))}"


REFUSAL_KEPT = "kept with the question to a person"
REFUSAL = "the model said: {text}"
EMPTY_RESPONSE = "OpenAI returned empty response"
CUT_RESPONSE = "OpenAI returned a response that was cut off"
REFUSED_RESPONSE = "OpenAI refused the request"
BAD_JSON_RESPONSE = "OpenAI returned something that is not the JSON asked for"
BUSY_PROVIDER = "OpenAI asks to slow down"
FAILING_PROVIDER = "OpenAI could not be reached or failed"

GATE_OPEN = "{count} identifiers match"
GATE_TOO_FEW = "approved identifiers that match: {count}; three are needed"
GATE_NO_ANCHOR = "name and date of birth, record number or IHI must be among the matches"
GATE_DIFFERS = "{what} differs"
GATE_SWAPPED = "date of birth differs: day and month are exchanged"
GATE_SECOND_PATIENT = "another patient of the practice matches as well"
GATE_SECOND_PERSON = "a second person's {what} stands on the document"
GATE_SOMEBODY_ELSE = "somebody who is not the patient is named with a birth date, a sex or an age"
GATE_OTHER_PATIENT_NAMED = "another patient of the practice is named on the document"
GATE_MODEL = "the model saw a risk"
GATE_MODEL_SAID = "the model said: {why}"
GATE_NO_TEXT = "no text could be read"

FACT_NOT_FOUND = "its words are not on the page"
FACT_DENIED = "the document denies it"
FACT_OTHER_PERSON = "the document says it of somebody else"
FACT_ENDED = "the document says it has ended"
FACT_NOT_ACTIVE = "the reading says that it is not this patient's, or not now"
FACT_EARLIER_LIST = "it stands in the list from before the admission, and not in that for the discharge"
FACT_IN_A_NAME = "its words are part of a name"
FACT_UNCLEAR = "the letter does not say clearly that this is the patient's and goes on; read it there"
FACT_CONTRADICTED = "the letter also says that this has ended or is not so; read both places"
FACT_UNSURE = "the reading is unsure; look at the picture"
FACT_DOSE_DIFFERS = "the dose on the page is not the dose that was given"
FACT_DETAIL_DIFFERS = "how it is taken, or what it does, does not stand there in the words that were given"
FACT_PLANNED = "the document only considers it"
