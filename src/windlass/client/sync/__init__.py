"""The blocking twin of the client, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from windlass.client.sync.app import App
from windlass.client.sync.dead_letters import SyncDeadLetters
from windlass.client.sync.doctor import SyncDoctor
from windlass.client.sync.flows import SyncFlows
from windlass.client.sync.jobs import SyncJobs
from windlass.client.sync.limits import SyncLimits
from windlass.client.sync.locks import SyncLocks
from windlass.client.sync.overrides import SyncOverrides
from windlass.client.sync.queues import SyncQueues
from windlass.client.sync.quotas import SyncQuotas
from windlass.client.sync.schedules import SyncSchedules
from windlass.client.sync.signals import SyncSignals
from windlass.client.sync.workers import SyncWorkers
from windlass.client.sync_loop import SyncLoop


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
