"""Every way in which the making of a passport can be refused, each with the code that is stored.

PassportError
├── DocumentRejected      the document cannot be read as what it claims to be
├── ReaderUnavailable     the reader of pictures is not installed as it should be
├── NotCanonical          a value has no canonical bytes
├── SnapshotNotReady, InvalidSnapshotState
├── RulesNotPublished, InvalidRuleStatus
├── RuleSyntaxError, RuleTypeError, CompileError, TestParseFailed
├── PayloadTooLarge, ProofTooLarge, ReceiptTooLarge
├── InvalidPassportStatus, SigningKeyMissing, InvalidSigningKey, QrEncodeFailed
├── WebhookTimeout, WebhookDeliveryFailed, WebhookNon2xx
└── NotFound, InvalidInput, EventVersionConflict
"""

from __future__ import annotations

from collections.abc import Mapping


class PassportError(Exception):
    """Something about a passport was refused; `code` names it and `details` holds its values."""

    code = "PASSPORT_ERROR"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, object] = dict(details or {})


class DocumentRejected(PassportError):
    """A document cannot be read as its kind; `pointer` says where."""

    code = "DOCUMENT_REJECTED"

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer or 'document'}: {problem}", {"pointer": pointer, "problem": problem})
        self.pointer = pointer
        self.problem = problem


class ReaderUnavailable(PassportError):
    """What reads pictures is not installed as it should be; the document itself may be good."""

    code = "READER_UNAVAILABLE"


class UnsupportedDocumentKind(DocumentRejected):
    """No facts are taken from documents of this kind."""

    def __init__(self, kind: str) -> None:
        super().__init__("", f"no facts are read from documents of kind {kind}; upload it as BOM, PCF or "
                         "DUE_DILIGENCE")  # fmt: skip
        self.details["kind"] = kind


class NotCanonical(PassportError):
    """A value has no canonical bytes; `pointer` says which part of it."""

    code = "NOT_CANONICAL"

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer or 'value'}: {problem}", {"pointer": pointer, "problem": problem})
        self.pointer = pointer
        self.problem = problem


class _WrongStatus(PassportError):
    """Something is not in the status that a step needs."""

    noun = "object"

    def __init__(self, identifier: str, expected: str, actual: str) -> None:
        super().__init__(
            f"{self.noun} {identifier} is {actual}; it must be {expected}",
            {"id": identifier, "expected": expected, "actual": actual},
        )


class SnapshotNotReady(_WrongStatus):
    """Passports are compiled from SEALED snapshots only."""

    code = "SNAPSHOT_NOT_READY"
    noun = "snapshot"


class InvalidSnapshotState(_WrongStatus):
    """The snapshot cannot go where it was asked to go."""

    code = "SNAPSHOT_INVALID_STATE"
    noun = "snapshot"


class RulesNotPublished(_WrongStatus):
    """Passports are compiled with PUBLISHED rules only."""

    code = "RULE_PKG_NOT_PUBLISHED"
    noun = "rule package version"


class InvalidRuleStatus(_WrongStatus):
    """The rule package version cannot go where it was asked to go."""

    code = "RULE_PKG_INVALID_STATUS"
    noun = "rule package version"


class InvalidPassportStatus(_WrongStatus):
    """The passport version cannot go where it was asked to go."""

    code = "INVALID_PASSPORT_STATUS"
    noun = "passport version"


class RuleProblem(PassportError):
    """A rule source has a problem at a line and column."""

    code = "RULE_ERROR"

    def __init__(self, problem: str, line: int, column: int, source: str = "rules") -> None:
        super().__init__(
            f"{source}:{line}:{column}: {problem}",
            {"source": source, "line": line, "column": column, "problem": problem},
        )
        self.problem = problem
        self.line = line
        self.column = column


class RuleSyntaxError(RuleProblem):
    """The text is not in the rule language."""

    code = "RULE_SYNTAX_ERROR"


class RuleTypeError(RuleProblem):
    """The text is in the rule language, but its types or units do not fit."""

    code = "RULE_TYPE_ERROR"


class CompileError(RuleProblem):
    """A rule could not be evaluated; the rule's name and place are in the details."""

    code = "COMPILE_ERROR"

    def __init__(self, problem: str, line: int, column: int, rule: str = "") -> None:
        super().__init__(f"rule {rule}: {problem}" if rule else problem, line, column)
        self.details["rule"] = rule


class TestParseFailed(RuleProblem):
    """The test suite of a rule package cannot be read."""

    __test__ = False
    code = "TEST_PARSE_FAILED"


class _TooLarge(PassportError):
    """Compiled bytes are above their limit."""

    noun = "artifact"
    variable = ""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"the {self.noun} has {size} bytes; the limit is {limit} ({self.variable})",
            {"size": size, "limit": limit},
        )


class PayloadTooLarge(_TooLarge):
    """The canonical payload is above its limit."""

    code = "PAYLOAD_TOO_LARGE"
    noun = "payload"
    variable = "BPC_PAYLOAD_MAX_BYTES"


class ProofTooLarge(_TooLarge):
    """The canonical proof is above its limit."""

    code = "PROOF_TOO_LARGE"
    noun = "proof"
    variable = "BPC_PROOF_MAX_BYTES"


class ReceiptTooLarge(_TooLarge):
    """The canonical receipt is above its limit."""

    code = "RECEIPT_TOO_LARGE"
    noun = "receipt"
    variable = "BPC_RECEIPT_MAX_BYTES"


class SigningKeyMissing(PassportError):
    """There is no signing key in the environment."""

    code = "SIGNING_KEY_MISSING"


class InvalidSigningKey(PassportError):
    """The signing key cannot be used for this receipt."""

    code = "INVALID_SIGNING_KEY"


class QrEncodeFailed(PassportError):
    """The text does not fit into a QR code."""

    code = "QR_ENCODE_FAILED"

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"no QR code for this text: {problem}", {"text": text})


class WebhookError(PassportError):
    """A delivery did not succeed and may be tried again; `note` is stored with it."""

    code = "WEBHOOK_DELIVERY_FAILED"

    def __init__(self, note: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(f"webhook delivery failed: {note}", details)
        self.note = note


class WebhookTimeout(WebhookError):
    """The receiver did not answer in time."""

    code = "WEBHOOK_TIMEOUT"


class WebhookDeliveryFailed(WebhookError):
    """The receiver could not be reached, or the connection broke."""


class WebhookNon2xx(WebhookError):
    """The receiver answered with a status that is not a success."""

    code = "WEBHOOK_NON_2XX"

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}", {"status": status})


class NotFound(PassportError):
    """There is no such thing for this tenant."""

    code = "NOT_FOUND"

    def __init__(self, noun: str, identifier: str) -> None:
        super().__init__(f"no {noun} {identifier} here", {"noun": noun, "id": identifier})


class InvalidInput(PassportError):
    """What was given cannot be used; the message says what to give."""

    code = "INVALID_INPUT"


class EventVersionConflict(PassportError):
    """Somebody else appended to the same aggregate first; trying again helps."""

    code = "EVENT_VERSION_CONFLICT"
