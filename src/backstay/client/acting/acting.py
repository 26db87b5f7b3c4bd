"""Every noun of the client for somebody: what they may see and do, in their name."""

from __future__ import annotations

from collections.abc import Iterable

from backstay.client.acting.alerts import ActingAlerts
from backstay.client.acting.everybody import (
    ActingDoctor,
    ActingLimits,
    ActingMetrics,
    ActingOverrides,
    ActingQueues,
    ActingQuotas,
    ActingWorkers,
)
from backstay.client.acting.failures import ActingFailures
from backstay.client.acting.jobs import ActingDeadLetters, ActingJobs, ActingSignals
from backstay.client.acting.live import ActingLive
from backstay.client.acting.operations import ActingOperations
from backstay.client.acting.scope import Scope
from backstay.client.acting.service import ActingApiKeys, ActingHealth
from backstay.client.acting.tenants import ActingAudit, ActingFlows, ActingLocks, ActingSchedules
from backstay.client.acting.webhooks import ActingWebhooks
from backstay.client.arguments import who
from backstay.client.sync.app import App
from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.model.rights import EVERYTHING


class Acting:
    """What `app.acting_as(…)` gives: the nouns of an application, scoped by tenant, limited by rights, signed.

    Reading takes the right `<noun>.read`, an action the right of its name, such as `jobs.cancel`. What belongs to
    another tenant is not found, as if it were not there.
    """

    def __init__(self, app: App, actor: str, *, tenant: str, rights: Iterable[str]) -> None:
        if isinstance(rights, str):
            raise InvalidSettings(f"rights are a set of names, as in {{{rights!r}}}, not one text")
        if tenant not in ("", EVERYTHING):
            codec.check_key("tenant", tenant)
        scope = Scope(app, who(actor), tenant, frozenset(rights))
        self.actor, self.tenant, self.rights = scope.actor, scope.tenant, scope.rights
        self.jobs = ActingJobs(scope)
        self.dead_letters = ActingDeadLetters(scope)
        self.signals = ActingSignals(scope)
        self.flows = ActingFlows(scope)
        self.schedules = ActingSchedules(scope)
        self.locks = ActingLocks(scope)
        self.audit = ActingAudit(scope)
        self.quotas = ActingQuotas(scope)
        self.queues = ActingQueues(scope)
        self.limits = ActingLimits(scope)
        self.overrides = ActingOverrides(scope)
        self.workers = ActingWorkers(scope)
        self.doctor = ActingDoctor(scope)
        self.api_keys = ActingApiKeys(scope)
        self.health = ActingHealth(scope)
        self.webhooks = ActingWebhooks(scope)
        self.alerts = ActingAlerts(scope)
        self.metrics = ActingMetrics(scope)
        self.live = ActingLive(scope)
        self.operations = ActingOperations(scope)
        self.failures = ActingFailures(scope)
