"""What each field of a policy is for, a sentence each; the reference page is written from here."""

from __future__ import annotations

from collections.abc import Mapping

ABOUT: Mapping[str, str] = {
    "max_attempts": "how often a job may be tried",
    "backoff": "how long to wait before each retry: 2 s, doubled each time, at most 1024 s",
    "lease": "how long a claim holds without being renewed; after that another worker may take the job",
    "renew_every": "how often a worker renews; a third of the lease where only the lease is set, "
    "never more than half of it",
    "timeout": "how long one attempt may take",
    "max_timeout": "where `timeout` stops growing",
    "timeout_growth": "what `timeout` is multiplied by after an attempt that ran into it",
    "max_crashes": "how many crashes of a worker a job may cause as the only suspect before it is dead",
    "priority": "the lower the sooner",
    "ageing_step": "how much waiting time one step of priority is worth; a year makes priorities strict",
    "cancel_running": "whether a running job may be asked to stop",
    "retry_unknown": "whether errors that no rule recognises are retried",
    "exhausted_wins": "which reason a hopeless error has on the last attempt: *exhausted* instead of *hopeless*",
    "classes": "rules for classes of errors, see below",
    "expires_after": "a job that has not started by then is cancelled",
    "deadline_after": "a job that has not finished by then is dead",
    "misfit_for": "how long a job whose arguments fit no worker's code is held for one that they fit; then it is dead",
    "postpone_above": "from this many waiting jobs of the queue on, new ones are due later; none lets any number wait",
    "postpone_by": "how much later, once for each time this number waits already",
    "keep_completed": "how long completed jobs stay in the database; none keeps them for good",
    "keep_cancelled": "how long cancelled jobs stay; none keeps them for good",
    "keep_resolved": "how long resolved jobs stay; none keeps them for good",
    "keep_letters": "how long closed dead letters stay, at least as long as their job; none keeps them for good",
    "transaction_limit": "how long the block of `ctx.transaction()` may keep others from writing to SQLite",
    "max_result_bytes": "the largest result a handler may return",
    "max_payload_bytes": "the largest arguments a job may have",
    "concurrency": "how many handlers a worker runs at the same time",
    "poll_busy": "how often a worker that found work looks again without being woken",
    "poll_idle": "how often a worker that found nothing looks again without being woken",
    "shutdown_grace": "how long a stopping worker lets running jobs finish",
}

OF_A_WORKER = frozenset(
    {
        "concurrency",
        "poll_busy",
        "poll_idle",
        "shutdown_grace",
        "keep_completed",
        "keep_cancelled",
        "keep_resolved",
        "keep_letters",
    }
)
"""The fields that no queue, kind or job can have of its own."""
