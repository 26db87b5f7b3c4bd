"""What the blocking twin needs of an application.

Written by tools/generate_sync.py; do not edit.
"""

from __future__ import annotations

from typing import Protocol

from backstay.client.alerts import Alerts
from backstay.client.api_keys import ApiKeys
from backstay.client.archive.archive import Archive
from backstay.client.audit import Audit
from backstay.client.audit_chain import AuditChain
from backstay.client.dead_letters import DeadLetters
from backstay.client.doctor.doctor import Doctor
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.failures import Failures
from backstay.client.flows import Flows
from backstay.client.health import Health
from backstay.client.jobs import Jobs
from backstay.client.limits import Limits
from backstay.client.live import Live
from backstay.client.locks import Locks
from backstay.client.metrics import Metrics
from backstay.client.operations import Operations
from backstay.client.overrides import Overrides
from backstay.client.queues import Queues
from backstay.client.quotas import Quotas
from backstay.client.schedules import Schedules
from backstay.client.signals import Signals
from backstay.client.tenants import Tenants
from backstay.client.webhooks import Webhooks
from backstay.client.workers import Workers


class App(Protocol):
    """Where the asynchronous nouns of the running loop are found."""

    url: str

    @property
    def jobs(self) -> Jobs: ...

    @property
    def dead_letters(self) -> DeadLetters: ...

    @property
    def queues(self) -> Queues: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def doctor(self) -> Doctor: ...

    @property
    def overrides(self) -> Overrides: ...

    @property
    def flows(self) -> Flows: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def signals(self) -> Signals: ...

    @property
    def quotas(self) -> Quotas: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def locks(self) -> Locks: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def api_keys(self) -> ApiKeys: ...

    @property
    def health(self) -> Health: ...

    @property
    def webhooks(self) -> Webhooks: ...

    @property
    def alerts(self) -> Alerts: ...

    @property
    def audit_chain(self) -> AuditChain: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def operations(self) -> Operations: ...

    @property
    def failures(self) -> Failures: ...

    @property
    def tenants(self) -> Tenants: ...

    @property
    def archive(self) -> Archive: ...

    @property
    def live(self) -> Live: ...

    @property
    def _enqueuer(self) -> Enqueuer: ...
