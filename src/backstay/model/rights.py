"""Which rights somebody has, and which a role gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

EVERYTHING = "*"

OWN_KINDS = "backstay."
"""How the names of Backstay's own kinds begin. Their jobs speak for every tenant, so no right covers enqueuing them."""


def covers(rights: Collection[str], right: str) -> bool:
    """Return True if these rights include this one: `jobs.*` covers `jobs.retry`, `*` covers everything."""
    noun = right.partition(".")[0]
    return bool({EVERYTHING, f"{noun}.{EVERYTHING}", right} & set(rights))


READ = (
    "jobs", "dead_letters", "schedules", "flows", "queues", "limits", "workers", "locks", "signals", "quotas",
    "overrides", "doctor", "metrics", "alerts", "operations", "failures", "live",
)  # fmt: skip
ACT = ("jobs", "dead_letters", "schedules", "flows", "queues", "signals", "locks", "operations", "failures")
ADMINISTER = (*READ, *ACT, "audit", "api_keys", "webhooks", "tenants", "settings")

VIEWER_RIGHTS = frozenset(f"{noun}.read" for noun in READ)
OPERATOR_RIGHTS = VIEWER_RIGHTS | {f"{noun}.*" for noun in ACT} | {"alerts.mute", "audit.read"}
ADMIN_RIGHTS = frozenset(f"{noun}.*" for noun in ADMINISTER)

RIGHTS: Mapping[str, frozenset[str]] = {
    "viewer": VIEWER_RIGHTS,
    "operator": OPERATOR_RIGHTS,
    "admin": ADMIN_RIGHTS,
}
"""What each role may do: look, act on jobs, or administer everything."""

PAYLOADS = "payloads.read"
"""The right to see arguments, results, steps and signals; no role has it by itself."""


def narrowed(granted: Iterable[str], scopes: Iterable[str]) -> frozenset[str]:
    """Return what both sets allow: `jobs.*` and `jobs.read` meet in `jobs.read`."""
    ours, theirs = frozenset(granted), frozenset(scopes)
    return frozenset({right for right in ours if covers(theirs, right)}) | {
        scope for scope in theirs if covers(ours, scope)
    }
