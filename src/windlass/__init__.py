"""Durable background jobs for Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Loaded by name and not at once: who only imports an error, or asks for help, does not wait for database drivers.
if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.backoff import Backoff
    from windlass.classify import ErrorClass, Rules
    from windlass.client.diagnosis import Finding, Severity
    from windlass.context import Context, current
    from windlass.errors import (
        AlreadySettled,
        Cancel,
        ClaimLost,
        FieldRefused,
        Hopeless,
        IdempotencyMismatch,
        InvalidArguments,
        InvalidBatch,
        InvalidCursor,
        InvalidJob,
        InvalidPayload,
        InvalidPolicy,
        InvalidSettings,
        InvalidStep,
        JobCancelled,
        JobDead,
        JobFailed,
        JobNotFound,
        KeyTaken,
        LeaseUncertain,
        LetterChanged,
        OutcomeUnknown,
        ResultTimeout,
        Retry,
        RetryAfter,
        SchemaMismatch,
        Snooze,
        StoreBusy,
        StoreConflict,
        StoreError,
        StoreUnavailable,
        SyncOnLoop,
        TransactionTooLong,
        UnknownKind,
        WindlassError,
        WrongDatabase,
        WrongState,
    )
    from windlass.handle import JobHandle
    from windlass.handler import Handler, JobArgs
    from windlass.job import Attempt, Job, JobId, Progress, Step
    from windlass.logs import configure as configure_logging
    from windlass.policy import ClassRule
    from windlass.profile import PriorityScale, Profile
    from windlass.promotion import Promoted, References
    from windlass.records import DeadLetter, Decided, JobFilter, LetterFilter, LetterGroup
    from windlass.states import State
    from windlass.transaction import SyncTransaction, Transaction
    from windlass.version import VERSION as __version__
    from windlass.worker.worker import Worker

__all__ = [
    "AlreadySettled",
    "Attempt",
    "Backoff",
    "Cancel",
    "ClaimLost",
    "ClassRule",
    "Context",
    "DeadLetter",
    "Decided",
    "ErrorClass",
    "FieldRefused",
    "Finding",
    "Handler",
    "Hopeless",
    "IdempotencyMismatch",
    "InvalidArguments",
    "InvalidBatch",
    "InvalidCursor",
    "InvalidJob",
    "InvalidPayload",
    "InvalidPolicy",
    "InvalidSettings",
    "InvalidStep",
    "Job",
    "JobArgs",
    "JobCancelled",
    "JobDead",
    "JobFailed",
    "JobFilter",
    "JobHandle",
    "JobId",
    "JobNotFound",
    "KeyTaken",
    "LeaseUncertain",
    "LetterChanged",
    "LetterFilter",
    "LetterGroup",
    "OutcomeUnknown",
    "PriorityScale",
    "Profile",
    "Progress",
    "Promoted",
    "References",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Rules",
    "SchemaMismatch",
    "Severity",
    "Snooze",
    "State",
    "Step",
    "StoreBusy",
    "StoreConflict",
    "StoreError",
    "StoreUnavailable",
    "SyncOnLoop",
    "SyncTransaction",
    "Transaction",
    "TransactionTooLong",
    "UnknownKind",
    "Windlass",
    "WindlassError",
    "Worker",
    "WrongDatabase",
    "WrongState",
    "__version__",
    "configure_logging",
    "current",
]

_HOMES = {
    "windlass.app": ("Windlass",),
    "windlass.backoff": ("Backoff",),
    "windlass.classify": ("ErrorClass", "Rules"),
    "windlass.client.diagnosis": ("Finding", "Severity"),
    "windlass.context": ("Context", "current"),
    "windlass.errors": (
        "AlreadySettled",
        "Cancel",
        "ClaimLost",
        "FieldRefused",
        "Hopeless",
        "IdempotencyMismatch",
        "InvalidArguments",
        "InvalidBatch",
        "InvalidCursor",
        "InvalidJob",
        "InvalidPayload",
        "InvalidPolicy",
        "InvalidSettings",
        "InvalidStep",
        "JobCancelled",
        "JobDead",
        "JobFailed",
        "JobNotFound",
        "KeyTaken",
        "LeaseUncertain",
        "LetterChanged",
        "OutcomeUnknown",
        "ResultTimeout",
        "Retry",
        "RetryAfter",
        "SchemaMismatch",
        "Snooze",
        "StoreBusy",
        "StoreConflict",
        "StoreError",
        "StoreUnavailable",
        "SyncOnLoop",
        "TransactionTooLong",
        "UnknownKind",
        "WindlassError",
        "WrongDatabase",
        "WrongState",
    ),
    "windlass.handle": ("JobHandle",),
    "windlass.handler": ("Handler", "JobArgs"),
    "windlass.job": ("Attempt", "Job", "JobId", "Progress", "Step"),
    "windlass.logs": ("configure_logging",),
    "windlass.policy": ("ClassRule",),
    "windlass.profile": ("PriorityScale", "Profile"),
    "windlass.promotion": ("Promoted", "References"),
    "windlass.records": ("DeadLetter", "Decided", "JobFilter", "LetterFilter", "LetterGroup"),
    "windlass.states": ("State",),
    "windlass.transaction": ("SyncTransaction", "Transaction"),
    "windlass.version": ("__version__",),
    "windlass.worker.worker": ("Worker",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_CALLED_THERE = {"configure_logging": "configure", "__version__": "VERSION"}


def __getattr__(name: str) -> Any:
    """Load a public name where it lives, when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME_OF[name]), _CALLED_THERE.get(name, name))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
