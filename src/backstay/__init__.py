"""Durable background jobs for Python.

These are the names of a first day. Every exception is in `backstay.errors`, every value that the client returns in
`backstay.records`, what tests need in `backstay.testing`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.app import Backstay as Backstay
    from backstay.attempt.transaction import SyncTransaction as SyncTransaction
    from backstay.attempt.transaction import Transaction as Transaction
    from backstay.client.flow_building import Flow as Flow
    from backstay.client.flow_building import FlowHandle as FlowHandle
    from backstay.client.flow_building import FlowNode as FlowNode
    from backstay.client.flow_building import result_of as result_of
    from backstay.context import Context as Context
    from backstay.context import current as current
    from backstay.errors import BackstayError as BackstayError
    from backstay.errors import Cancel as Cancel
    from backstay.errors import Hopeless as Hopeless
    from backstay.errors import ItemFailed as ItemFailed
    from backstay.errors import Retry as Retry
    from backstay.errors import Snooze as Snooze
    from backstay.handle import JobHandle as JobHandle
    from backstay.handler import Handler as Handler
    from backstay.handler import JobArgs as JobArgs
    from backstay.model.backoff import Backoff as Backoff
    from backstay.model.batch import BatchItem as BatchItem
    from backstay.model.classify import ErrorClass as ErrorClass
    from backstay.model.classify import ErrorRules as ErrorRules
    from backstay.model.job import Job as Job
    from backstay.model.job import JobId as JobId
    from backstay.model.limits.declared import Limit as Limit
    from backstay.model.limits.declared import Rate as Rate
    from backstay.model.policy.policy import ClassRule as ClassRule
    from backstay.model.policy.profile import PriorityScale as PriorityScale
    from backstay.model.policy.profile import Profile as Profile
    from backstay.model.promoted_fields import PromotedField as PromotedField
    from backstay.model.promoted_fields import References as References
    from backstay.model.states import State as State
    from backstay.options import JobOptions as JobOptions
    from backstay.settings.logs import configure_logging as configure_logging
    from backstay.settings.migrations import Migrations as Migrations
    from backstay.settings.version import __version__ as __version__
    from backstay.tasks import Tasks as Tasks
    from backstay.tasks import period_lock_id as period_lock_id
    from backstay.tasks import period_start as period_start
    from backstay.worker.worker import Worker as Worker

# Loaded by name and not at once, so that importing an error or asking for help does not load database drivers.
_HOMES = {
    "backstay.app": ("Backstay",),
    "backstay.attempt.transaction": ("SyncTransaction", "Transaction"),
    "backstay.client.flow_building": ("Flow", "FlowHandle", "FlowNode", "result_of"),
    "backstay.context": ("Context", "current"),
    "backstay.errors": ("BackstayError", "Cancel", "Hopeless", "ItemFailed", "Retry", "Snooze"),
    "backstay.handle": ("JobHandle",),
    "backstay.handler": ("Handler", "JobArgs"),
    "backstay.model.backoff": ("Backoff",),
    "backstay.model.batch": ("BatchItem",),
    "backstay.model.classify": ("ErrorClass", "ErrorRules"),
    "backstay.model.job": ("Job", "JobId"),
    "backstay.model.limits.declared": ("Limit", "Rate"),
    "backstay.model.policy.policy": ("ClassRule",),
    "backstay.model.policy.profile": ("PriorityScale", "Profile"),
    "backstay.model.promoted_fields": ("PromotedField", "References"),
    "backstay.model.states": ("State",),
    "backstay.options": ("JobOptions",),
    "backstay.settings.logs": ("configure_logging",),
    "backstay.settings.migrations": ("Migrations",),
    "backstay.settings.version": ("__version__",),
    "backstay.tasks": ("Tasks", "period_lock_id", "period_start"),
    "backstay.worker.worker": ("Worker",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")
    found = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _hint(name: str) -> str:
    """Where the name is, if another public module has it."""
    for module in ("backstay.errors", "backstay.records"):
        if not name.startswith("_") and hasattr(import_module(module), name):
            return f"; it is in {module}"
    return ""
