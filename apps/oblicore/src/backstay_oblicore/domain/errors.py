"""Everything that can be wrong with what the application is given, each with a code and whether trying again helps.

OblicoreError
├── Refused                 wrong for good: a retry cannot mend it
│   ├── FileMissing   FileUnreadable   FileTooLarge   TooManyRows   MissingColumns
│   ├── DocumentMissing   PackMissing   ImportMissing   AccessDenied   InvalidRequest   AnswerInvalid
│   └── UnknownFrequency   InvalidFacts   PdfFailed
└── Unavailable             an outside part did not answer: worth another try
    ├── OcrFailed   ModelTimeout   ModelFailed
    └── StorageUnavailable   MailUnavailable
"""

from __future__ import annotations

from typing import ClassVar


class OblicoreError(Exception):
    """The root of the application's own errors."""

    code: ClassVar[str] = "OBLICORE"
    retryable: ClassVar[bool] = False


class Refused(OblicoreError):
    """What was asked can never work as it stands."""

    code = "REFUSED"


class FileMissing(Refused):
    """The stored file is not there."""

    code = "FILE_NOT_FOUND"


class FileUnreadable(Refused):
    """The file is not what it claims to be, is damaged or is locked."""

    code = "INVALID_FILE_FORMAT"


class FileTooLarge(Refused):
    """The file is larger than the application takes."""

    code = "FILE_TOO_LARGE"


class TooManyRows(Refused):
    """The register holds more rows than one import takes."""

    code = "TOO_MANY_ROWS"


class MissingColumns(Refused):
    """A column that every register must have is not there."""

    code = "MISSING_COLUMNS"


class DocumentMissing(Refused):
    """The document is not there, is deleted, or belongs to somebody else."""

    code = "DOCUMENT_NOT_FOUND"


class PackMissing(Refused):
    """The pack is not there."""

    code = "PACK_NOT_FOUND"


class ImportMissing(Refused):
    """The import is not there, or not in the state that was asked for."""

    code = "IMPORT_NOT_FOUND"


class AccessDenied(Refused):
    """The person may not do this."""

    code = "ACCESS_DENIED"


class InvalidRequest(Refused):
    """The values of the request do not go together."""

    code = "VALIDATION_ERROR"


class AnswerInvalid(Refused):
    """The model's answer does not have the agreed shape."""

    code = "EXTRACTION_VALIDATION_ERROR"


class UnknownFrequency(Refused):
    """A frequency that no calendar rule is known for."""

    code = "UNKNOWN_FREQUENCY"


class InvalidFacts(Refused):
    """A row's facts cannot be reckoned with."""

    code = "INVALID_DATA"


class Unavailable(OblicoreError):
    """An outside part did not answer as it should; another try may."""

    code = "UNAVAILABLE"
    retryable = True


class OcrFailed(Unavailable):
    """Recognising a page failed."""

    code = "OCR_FAILED"


class ModelTimeout(Unavailable):
    """The language model took too long."""

    code = "LLM_TIMEOUT"


class ModelFailed(Unavailable):
    """The language model answered with an error."""

    code = "LLM_ERROR"


class StorageUnavailable(Unavailable):
    """File storage did not answer; this says nothing about whether a file exists."""

    code = "STORAGE_ERROR"


class MailUnavailable(Unavailable):
    """The mail server refused for now, or could not be reached."""

    code = "EMAIL_SEND_FAILED"


class PdfFailed(Refused):
    """Writing a PDF failed twice: the same content will not fit on paper a third time."""

    code = "PDF_GENERATION_FAILED"
