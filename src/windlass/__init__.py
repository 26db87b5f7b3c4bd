"""Durable background jobs for Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Loaded by name and not at once: who only imports an error, or asks for help, does not wait for database drivers.
if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.backoff import Backoff
    from windlass.batch import BatchItem
    from windlass.classify import ErrorClass, Rules
    from windlass.client.diagnosis import Finding, Severity
    from windlass.client.flow_building import Flow, FlowHandle, Node, result_of
    from windlass.client.schedules import BackFill
    from windlass.context import Context, current
    from windlass.errors import (
        AlreadySettled,
        Cancel,
        ClaimLost,
        FieldRefused,
        FlowNotFound,
        Hopeless,
        IdempotencyMismatch,
        InvalidArguments,
        InvalidBatch,
        InvalidCursor,
        InvalidFlow,
        InvalidJob,
        InvalidPayload,
        InvalidPolicy,
        InvalidSchedule,
        InvalidSettings,
        InvalidSignal,
        InvalidStep,
        ItemFailed,
        JobCancelled,
        JobDead,
        JobFailed,
        JobNotFound,
        KeyTaken,
        LeaseUncertain,
        LetterChanged,
        LockTaken,
        OutcomeUnknown,
        QuotaExceeded,
        ResultTimeout,
        Retry,
        RetryAfter,
        ScheduleNotFound,
        SchemaMismatch,
        SignalRefused,
        SignalTimeout,
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
    from windlass.flows import FlowRecord
    from windlass.handle import JobHandle
    from windlass.handler import Handler, JobArgs
    from windlass.job import Attempt, Job, JobId, Progress, Step
    from windlass.limits import Limit, Rate
    from windlass.logs import configure as configure_logging
    from windlass.policy import ClassRule
    from windlass.profile import PriorityScale, Profile
    from windlass.promotion import Promoted, References
    from windlass.records import DeadLetter, Decided, JobFilter, LetterFilter, LetterGroup
    from windlass.schedule_records import HistoryEntry, Lock
    from windlass.schedules import Schedule
    from windlass.signals import Signal
    from windlass.states import State
    from windlass.tasks import Tasks
    from windlass.transaction import SyncTransaction, Transaction
    from windlass.version import VERSION as __version__
    from windlass.worker.worker import Worker

__all__ = [
    "AlreadySettled",
    "Attempt",
    "BackFill",
    "Backoff",
    "BatchItem",
    "Cancel",
    "ClaimLost",
    "ClassRule",
    "Context",
    "DeadLetter",
    "Decided",
    "ErrorClass",
    "FieldRefused",
    "Finding",
    "Flow",
    "FlowHandle",
    "FlowNotFound",
    "FlowRecord",
    "Handler",
    "HistoryEntry",
    "Hopeless",
    "IdempotencyMismatch",
    "InvalidArguments",
    "InvalidBatch",
    "InvalidCursor",
    "InvalidFlow",
    "InvalidJob",
    "InvalidPayload",
    "InvalidPolicy",
    "InvalidSchedule",
    "InvalidSettings",
    "InvalidSignal",
    "InvalidStep",
    "ItemFailed",
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
    "Limit",
    "Lock",
    "LockTaken",
    "Node",
    "OutcomeUnknown",
    "PriorityScale",
    "Profile",
    "Progress",
    "Promoted",
    "QuotaExceeded",
    "Rate",
    "References",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Rules",
    "Schedule",
    "ScheduleNotFound",
    "SchemaMismatch",
    "Severity",
    "Signal",
    "SignalRefused",
    "SignalTimeout",
    "Snooze",
    "State",
    "Step",
    "StoreBusy",
    "StoreConflict",
    "StoreError",
    "StoreUnavailable",
    "SyncOnLoop",
    "SyncTransaction",
    "Tasks",
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
    "result_of",
]

_HOMES = {
    "windlass.tasks": ("Tasks",),
    "windlass.schedules": ("Schedule",),
    "windlass.schedule_records": ("HistoryEntry", "Lock"),
    "windlass.client.schedules": ("BackFill",),
    "windlass.app": ("Windlass",),
    "windlass.backoff": ("Backoff",),
    "windlass.batch": ("BatchItem",),
    "windlass.classify": ("ErrorClass", "Rules"),
    "windlass.client.diagnosis": ("Finding", "Severity"),
    "windlass.client.flow_building": ("Flow", "FlowHandle", "Node", "result_of"),
    "windlass.context": ("Context", "current"),
    "windlass.errors": (
        "AlreadySettled",
        "Cancel",
        "ClaimLost",
        "FieldRefused",
        "FlowNotFound",
        "Hopeless",
        "IdempotencyMismatch",
        "InvalidArguments",
        "InvalidBatch",
        "InvalidCursor",
        "InvalidFlow",
        "InvalidJob",
        "InvalidPayload",
        "InvalidPolicy",
        "InvalidSchedule",
        "InvalidSettings",
        "InvalidSignal",
        "InvalidStep",
        "ItemFailed",
        "JobCancelled",
        "JobDead",
        "JobFailed",
        "JobNotFound",
        "KeyTaken",
        "LeaseUncertain",
        "LetterChanged",
        "LockTaken",
        "OutcomeUnknown",
        "QuotaExceeded",
        "ResultTimeout",
        "Retry",
        "RetryAfter",
        "ScheduleNotFound",
        "SchemaMismatch",
        "SignalRefused",
        "SignalTimeout",
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
    "windlass.flows": ("FlowRecord",),
    "windlass.handle": ("JobHandle",),
    "windlass.handler": ("Handler", "JobArgs"),
    "windlass.job": ("Attempt", "Job", "JobId", "Progress", "Step"),
    "windlass.logs": ("configure_logging",),
    "windlass.policy": ("ClassRule",),
    "windlass.profile": ("PriorityScale", "Profile"),
    "windlass.limits": ("Limit", "Rate"),
    "windlass.promotion": ("Promoted", "References"),
    "windlass.records": ("DeadLetter", "Decided", "JobFilter", "LetterFilter", "LetterGroup"),
    "windlass.signals": ("Signal",),
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
