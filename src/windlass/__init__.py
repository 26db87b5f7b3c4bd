"""Durable background jobs for Python."""

from windlass.app import Windlass
from windlass.backoff import Backoff
from windlass.classify import ErrorClass, Rules
from windlass.client.diagnosis import Finding, Severity
from windlass.context import Context, current
from windlass.errors import (
    Cancel,
    ClaimLost,
    Hopeless,
    IdempotencyMismatch,
    InvalidArguments,
    InvalidBatch,
    InvalidCursor,
    InvalidJob,
    InvalidPayload,
    InvalidPolicy,
    InvalidSettings,
    JobCancelled,
    JobDead,
    JobFailed,
    JobNotFound,
    KeyTaken,
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
    UnknownKind,
    WindlassError,
    WrongDatabase,
    WrongState,
)
from windlass.handle import JobHandle
from windlass.handler import Handler, JobArgs
from windlass.job import Attempt, Job, JobId
from windlass.logs import configure as configure_logging
from windlass.policy import ClassRule
from windlass.profile import PriorityScale, Profile
from windlass.records import DeadLetter, Decided, JobFilter, LetterFilter, LetterGroup
from windlass.states import State
from windlass.version import VERSION as __version__
from windlass.worker.worker import Worker

__all__ = [
    "Attempt",
    "Backoff",
    "Cancel",
    "ClaimLost",
    "ClassRule",
    "Context",
    "DeadLetter",
    "Decided",
    "ErrorClass",
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
    "LetterChanged",
    "LetterFilter",
    "LetterGroup",
    "OutcomeUnknown",
    "PriorityScale",
    "Profile",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Rules",
    "SchemaMismatch",
    "Severity",
    "Snooze",
    "State",
    "StoreBusy",
    "StoreConflict",
    "StoreError",
    "StoreUnavailable",
    "SyncOnLoop",
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
