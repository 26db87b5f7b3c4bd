"""The blocking twin of the client, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.alerts import SyncAlerts
from backstay.client.sync.api_keys import SyncApiKeys
from backstay.client.sync.app import App
from backstay.client.sync.archive import SyncArchive
from backstay.client.sync.audit import SyncAudit
from backstay.client.sync.audit_chain import SyncAuditChain
from backstay.client.sync.dead_letters import SyncDeadLetters
from backstay.client.sync.doctor import SyncDoctor
from backstay.client.sync.failures import SyncFailures
from backstay.client.sync.flows import SyncFlows
from backstay.client.sync.health import SyncHealth
from backstay.client.sync.jobs import SyncJobs
from backstay.client.sync.limits import SyncLimits
from backstay.client.sync.locks import SyncLocks
from backstay.client.sync.metrics import SyncMetrics
from backstay.client.sync.operations import SyncOperations
from backstay.client.sync.overrides import SyncOverrides
from backstay.client.sync.queues import SyncQueues
from backstay.client.sync.quotas import SyncQuotas
from backstay.client.sync.schedules import SyncSchedules
from backstay.client.sync.signals import SyncSignals
from backstay.client.sync.tenants import SyncTenants
from backstay.client.sync.webhooks import SyncWebhooks
from backstay.client.sync.workers import SyncWorkers
from backstay.client.sync_loop import SyncLoop


class SyncClient:
    """Every noun, by blocking calls; raises SyncOnLoop where an event loop runs."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self.jobs = SyncJobs(app, loop)
        self.dead_letters = SyncDeadLetters(app, loop)
        self.queues = SyncQueues(app, loop)
        self.workers = SyncWorkers(app, loop)
        self.doctor = SyncDoctor(app, loop)
        self.overrides = SyncOverrides(app, loop)
        self.flows = SyncFlows(app, loop)
        self.limits = SyncLimits(app, loop)
        self.signals = SyncSignals(app, loop)
        self.quotas = SyncQuotas(app, loop)
        self.schedules = SyncSchedules(app, loop)
        self.locks = SyncLocks(app, loop)
        self.audit = SyncAudit(app, loop)
        self.api_keys = SyncApiKeys(app, loop)
        self.health = SyncHealth(app, loop)
        self.webhooks = SyncWebhooks(app, loop)
        self.alerts = SyncAlerts(app, loop)
        self.audit_chain = SyncAuditChain(app, loop)
        self.metrics = SyncMetrics(app, loop)
        self.operations = SyncOperations(app, loop)
        self.failures = SyncFailures(app, loop)
        self.tenants = SyncTenants(app, loop)
        self.archive = SyncArchive(app, loop)
