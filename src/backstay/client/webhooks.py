"""Webhooks: who is told when jobs end, and how they know that it was us."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from backstay.client.arguments import who
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.jobs import Jobs
from backstay.errors import InvalidSettings, NotFound
from backstay.handlers import codec
from backstay.model.job import Job, JobId
from backstay.model.records import JobFilter
from backstay.model.rights import EVERYTHING
from backstay.model.text.durations import Duration, duration
from backstay.model.webhooks import (
    DELIVER,
    EVENTS,
    FORMS,
    QUEUE,
    TEST,
    CreatedWebhook,
    Webhook,
    delivery_of,
    written,
)
from backstay.wakeups.contract import OPERATIONS, queue_hint

MOST_LISTED = 1000
SECRET_BYTES = 32
LONGEST_URL = 2000


@dataclass(frozen=True)
class Webhooks:
    """The webhooks of one application, from one event loop."""

    _enqueuer: Enqueuer
    _jobs: Jobs

    async def create(
        self,
        name: str,
        url: str,
        *,
        events: Iterable[str] = ("job.dead",),
        kinds: Iterable[str] | None = None,
        form: str = "standard",
        tenant: str = "",
        by: str = "client",
    ) -> CreatedWebhook:
        """Tell somebody of ends from now on; the secret that deliveries are signed with is told now.

        Every end of the tenant's jobs counts, or of the `kinds`, however it comes about. `events` are some of
        `job.completed`, `job.dead`, `job.cancelled` and `job.resolved`; `form` is `standard` (Standard Webhooks) or
        `sha256` (the header `X-Signature-256`). The tenant `"*"` hears of all tenants.
        """
        if form not in FORMS:
            raise InvalidSettings(f"the form cannot be {form!r}: it is one of {', '.join(FORMS)}")
        webhook_id, secret = self._enqueuer.env.new_id(), self._secret()
        await self._enqueuer.stores.service.webhooks.add(
            webhook_id,
            tenant=tenant if tenant in ("", EVERYTHING) else codec.check_key("tenant", tenant),
            name=codec.check_key("name", name),
            url=_url(url),
            events=_events(events),
            kinds=None if kinds is None else [codec.check_name("kind", kind) for kind in kinds],
            form=form,
            secret=secret,
            actor=who(by),
        )
        self._enqueuer.wakeups.send(OPERATIONS)
        return CreatedWebhook(await self.get(webhook_id), secret)

    async def get(self, webhook_id: UUID) -> Webhook:
        """One webhook; raises NotFound."""
        return (await self._found(webhook_id))[0]

    async def all(self, *, tenant: str | None = None, limit: int = 200) -> list[Webhook]:
        """Webhooks by name."""
        most = min(max(limit, 1), MOST_LISTED)
        return await self._enqueuer.stores.service.webhooks.all(tenant=tenant, limit=most)

    async def change(
        self,
        webhook_id: UUID,
        *,
        name: str | None = None,
        url: str | None = None,
        events: Iterable[str] | None = None,
        is_enabled: bool | None = None,
        by: str = "client",
    ) -> Webhook:
        """Change a webhook; what is left out stays."""
        await self._enqueuer.stores.service.webhooks.change(
            await self.get(webhook_id),
            name=None if name is None else codec.check_key("name", name),
            url=None if url is None else _url(url),
            events=None if events is None else _events(events),
            is_enabled=is_enabled,
            actor=who(by),
        )
        self._enqueuer.wakeups.send(OPERATIONS)
        return await self.get(webhook_id)

    async def rotate(
        self, webhook_id: UUID, *, overlap: Duration = "1d", by: str = "client"
    ) -> CreatedWebhook:
        """Sign with a new secret; deliveries carry a signature of the old one as well for `overlap`."""
        secret, length = self._secret(), duration(overlap, field="overlap")
        await self._enqueuer.stores.service.webhooks.rotate(
            await self.get(webhook_id), secret=secret, overlap=length, actor=who(by)
        )
        return CreatedWebhook(await self.get(webhook_id), secret)

    async def remove(self, webhook_id: UUID, *, by: str = "client") -> bool:
        """Tell it nothing any more; False when it was gone already."""
        webhook = await self.get(webhook_id)
        return await self._enqueuer.stores.service.webhooks.remove(webhook, actor=who(by))

    async def test(self, webhook_id: UUID, *, by: str = "client") -> JobId:
        """Store a delivery that only shows whether the webhook can be reached; returns the id of its job."""
        webhook, actor = await self.get(webhook_id), who(by)
        now = (await self._enqueuer.stores.insights.engine()).now
        message = f"msg_{webhook.id.hex}_test_{int(now.timestamp() * 1000)}"
        body = written(TEST, now, {"webhook": str(webhook.id)})
        return await self._send(webhook, message, body, actor=actor, action="webhook.tested")

    async def redeliver(self, webhook_id: UUID, delivery: UUID, *, by: str = "client") -> JobId:
        """Send the message of a delivery again, under the same id; returns the id of the new job."""
        webhook, actor = await self.get(webhook_id), who(by)
        job = await self._enqueuer.stores.jobs.get(JobId(delivery))
        if job is None or job.kind != DELIVER or job.args.get("webhook_id") != str(webhook.id):
            raise NotFound("delivery", delivery)
        message, body = job.args["message"], job.args["body"]
        return await self._send(webhook, message, body, actor=actor, action="webhook.redelivered")

    async def deliveries(self, webhook_id: UUID, *, limit: int = 50) -> list[Job]:
        """What was sent to a webhook, or is to be, newest first."""
        webhook = await self.get(webhook_id)
        return (await self._jobs.search(JobFilter(kind=DELIVER, tag=webhook.tag), limit=limit)).jobs

    async def _send(self, webhook: Webhook, message: str, body: str, *, actor: str, action: str) -> JobId:
        job_id = self._enqueuer.env.new_id()
        again = delivery_of(webhook, JobId(job_id), message, body, by=actor, is_again=True)
        await self._enqueuer.stores.enqueuing.enqueue([again])
        await self._enqueuer.stores.service.webhooks.note(webhook, action, actor=actor, message=message)
        self._enqueuer.wakeups.send(queue_hint(QUEUE))
        return again.id

    async def signing_secrets(self, webhook_id: UUID) -> Sequence[str]:
        """What deliveries are signed with now, the newest first; for what delivers."""
        return (await self._found(webhook_id))[1]

    async def _found(self, webhook_id: UUID) -> tuple[Webhook, tuple[str, ...]]:
        found = await self._enqueuer.stores.service.webhooks.get(webhook_id)
        if found is None:
            raise NotFound("webhook", webhook_id)
        return found

    def _secret(self) -> str:
        from backstay.outgoing.signatures import webhook_secret  # needs the extra `http`

        return webhook_secret(bytes.fromhex(self._enqueuer.env.secret())[:SECRET_BYTES])


def _url(url: str) -> str:
    """An address that can be called; whether it may be is decided at each delivery, when its name is looked up."""
    from backstay.outgoing.errors import TargetRefused
    from backstay.outgoing.targets import parse_target

    if len(url) > LONGEST_URL:
        raise InvalidSettings(f"the URL has {len(url):,} characters, more than {LONGEST_URL:,}")
    try:
        parse_target(url)
    except TargetRefused as refused:
        raise InvalidSettings(f"the URL cannot be called: {refused.reason}") from refused
    return url


def _events(events: Iterable[str]) -> list[str]:
    given = list(dict.fromkeys(events))
    wrong = [event for event in given if event not in EVENTS]
    if wrong or not given:
        shown = repr(wrong[0]) if wrong else "none"
        raise InvalidSettings(f"events cannot be {shown}: choose some of {', '.join(EVENTS)}")
    return given
