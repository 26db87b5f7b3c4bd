"""The nouns of an application that its HTTP service is made of."""

from __future__ import annotations

from backstay.client.alerts import Alerts
from backstay.client.api_keys import ApiKeys
from backstay.client.api_requests import ApiRequests
from backstay.client.archive.archive import Archive
from backstay.client.audit_chain import AuditChain
from backstay.client.failures import Failures
from backstay.client.health import Health
from backstay.client.live import Live
from backstay.client.metrics import Metrics
from backstay.client.operations import Operations
from backstay.client.tenants import Tenants
from backstay.client.webhooks import Webhooks
from backstay.composition.loop_resources import PerLoop, Resources
from backstay.model.suggestions import Rebuilt


class ServiceNouns:
    """What an application has besides its jobs, for those who reach it over HTTP."""

    api_keys = PerLoop[ApiKeys]()
    """Make, rotate and revoke the keys that let programs in."""
    api_requests = PerLoop[ApiRequests]()
    """Keep the answers of requests that were sent with an idempotency key."""
    metrics = PerLoop[Metrics]()
    """See how much waits, how much is done in what time, and how long it takes."""
    health = PerLoop[Health]()
    """Judge how well everything is."""
    webhooks = PerLoop[Webhooks]()
    """Say who is told when jobs end."""
    alerts = PerLoop[Alerts]()
    """See which alert rules hold, and mute them."""
    audit_chain = PerLoop[AuditChain]()
    """Chain the audit trail, and verify that it is whole."""
    live = PerLoop[Live]()
    """Follow the state of jobs, flows and queues as it changes."""
    operations = PerLoop[Operations]()
    """Do one thing with many jobs, at a pace, and see how far it is."""
    failures = PerLoop[Failures]()
    """See what jobs die of over time, and say who looks after a cause."""
    tenants = PerLoop[Tenants]()
    """Keep tenants apart inside PostgreSQL, by row security."""

    async def rebuild_dispatch(self) -> Rebuilt:
        """Make the lists of jobs in Redis anew from PostgreSQL.

        Raises InvalidSettings where jobs are not dispatched through Redis, and StoreUnavailable if it does not answer.
        """
        return await self._here().connections.rebuild_dispatch()

    archive = PerLoop[Archive]()
    """Move old jobs to a folder or a bucket, and put them back."""

    def _here(self) -> Resources:
        """What the running event loop has open."""
        raise NotImplementedError
