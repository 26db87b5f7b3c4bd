"""Decides what becomes of a job after an attempt: the policy that holds for it, put to `model/settlement.py`."""

from __future__ import annotations

import msgspec

from backstay.client.effective_policy import EffectivePolicies
from backstay.errors import InvalidPolicy
from backstay.handlers.registry import Registry
from backstay.model.job import Claim
from backstay.model.outcome import Outcome
from backstay.model.policy.policy import Policy, for_job, from_json, resolve
from backstay.model.records import KindRecord
from backstay.model.settlement import Settlement, settle
from backstay.runtime.env import Env
from backstay.stores.contract import Kinds

POLICIES_READ_EVERY = 30.0


class Decider:
    """For a worker, which has the handlers: their policies as operators have changed them."""

    def __init__(self, registry: Registry, numbers: EffectivePolicies, env: Env) -> None:
        self._registry, self._numbers, self._env = registry, numbers, env

    def decide(self, claim: Claim, outcome: Outcome) -> Settlement:
        """The next state of the job."""
        policy = self._numbers.of(self._registry.get(claim.kind), claim.queue)
        return settle(claim, outcome, _of_job(policy, claim), chance=self._env.random())


class StoredDecider:
    """For a process that may not have the handler: the policies that workers declared in the database."""

    def __init__(self, kinds: Kinds, numbers: EffectivePolicies, env: Env) -> None:
        self._kinds, self._numbers, self._env = kinds, numbers, env
        self._policies: dict[str, Policy] = {}
        self._read_at = float("-inf")

    async def decide(self, claim: Claim, outcome: Outcome) -> Settlement:
        """The next state of a job whose worker is gone."""
        if self._env.monotonic() - self._read_at > POLICIES_READ_EVERY:
            self._policies = {record.kind: _stored_policy(record) for record in await self._kinds.all()}
            self._read_at = self._env.monotonic()
        declared = self._policies.get(claim.kind) or resolve()
        policy = self._numbers.changed(declared, claim.queue, claim.kind)
        return settle(claim, outcome, _of_job(policy, claim), chance=self._env.random())


def _of_job(policy: Policy, claim: Claim) -> Policy:
    if claim.policy is None:
        return policy
    try:
        return for_job(policy, from_json(claim.policy))
    except InvalidPolicy:
        # Numbers that fitted when the job was stored may not fit a policy that has changed since.
        return policy


def _stored_policy(record: KindRecord) -> Policy:
    try:
        return resolve(from_json(msgspec.json.encode(record.policy).decode()))
    except InvalidPolicy:
        return resolve()
