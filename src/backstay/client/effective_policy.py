"""The numbers of kinds as they count now: what code declares, changed by operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from backstay.client.effective_limits import LIMIT_FIELDS
from backstay.client.enqueue.building import Builder
from backstay.errors import InvalidPolicy
from backstay.handlers.spec import HandlerSpec
from backstay.model.events import Emit
from backstay.model.policy.policy import Policy, PolicyChange, from_json, merge, overridden
from backstay.model.records import Override

OVERRIDABLE = (
    "max_attempts",
    "backoff",
    "lease",
    "timeout",
    "max_timeout",
    "timeout_growth",
    "max_crashes",
    "retry_unknown",
    "exhausted_wins",
)
"""The fields that are read when a job is claimed or settled, so that a change reaches jobs that already wait."""


def layers_for(overrides: Iterable[Override], queue: str, kind: str) -> tuple[PolicyChange, PolicyChange]:
    """What operators have changed for a kind in a queue: the queue's layer, then the kind's."""
    known = list(overrides)
    return _layer(known, "queue", queue), _layer(known, "kind", kind)


def _layer(overrides: Sequence[Override], scope: str, name: str) -> PolicyChange:
    return merge(
        *(
            from_json(one.change)
            for one in overrides
            if (one.scope, one.name) == (scope, name) and one.field not in LIMIT_FIELDS
        )
    )


class EffectivePolicies:
    """Policies by kind and queue; resolved once, and again when an operator changes something."""

    def __init__(self, builder: Builder, emit: Emit) -> None:
        self._builder, self._emit = builder, emit
        self.overrides: tuple[Override, ...] = ()
        self._policies: dict[tuple[str, str], Policy] = {}

    def use(self, overrides: Sequence[Override]) -> None:
        """Let these changes count from now on."""
        if tuple(overrides) != self.overrides:
            self.overrides = tuple(overrides)
            self._policies = {}

    def of(self, spec: HandlerSpec, queue: str) -> Policy:
        """The policy of a kind in a queue, before any job's own."""
        key = (spec.kind, queue)
        found = self._policies.get(key)
        if found is None:
            found = self.changed(self._builder.policy_of(spec, queue), queue, spec.kind)
            self._policies[key] = found
        return found

    def renew_every(self, specs: Sequence[HandlerSpec]) -> timedelta:
        """How often leases of these kinds have to be renewed."""
        return min(policy.renew_every for policy in self._in_use(specs))

    def longest_lease(self, specs: Sequence[HandlerSpec]) -> timedelta:
        """How long a claim of these kinds may hold."""
        return max(policy.lease for policy in self._in_use(specs))

    def _in_use(self, specs: Sequence[HandlerSpec]) -> list[Policy]:
        # Kinds are also claimed from queues that are not their own, which may have other numbers.
        return [*(self.of(spec, spec.queue) for spec in specs), *self._policies.values()]

    def changed(self, policy: Policy, queue: str, kind: str) -> Policy:
        """A policy as operators have changed it; as it was where the numbers do not fit together."""
        if not self.overrides:
            return policy
        try:
            return overridden(policy, *layers_for(self.overrides, queue, kind))
        except InvalidPolicy as refused:
            # They fitted when they were set, so the code has changed since; the doctor names them, too.
            self._emit("override.ignored", kind=kind, queue=queue, problem=str(refused))
            return policy
