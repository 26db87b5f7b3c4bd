"""What is told to the database about a kind, for processes that do not have its handler."""

from __future__ import annotations

import socket

import msgspec

from backstay.client.enqueue.building import Builder
from backstay.handlers.registry import Registry
from backstay.handlers.spec import DEFAULT_QUEUE, HandlerSpec
from backstay.model.policy.policy import PolicyChange
from backstay.model.policy.policy import to_json as policy_json
from backstay.model.policy.profile import Profile
from backstay.model.promoted_fields import Promotion, table_for
from backstay.model.reactions import Reaction, to_json
from backstay.model.records import KindRecord
from backstay.model.states import State
from backstay.settings.version import __version__


def record_of(spec: HandlerSpec, builder: Builder, registry: Registry) -> KindRecord:
    """A kind as the database remembers it."""
    policy, profile = builder.policy_of(spec, spec.queue), builder.profile
    return KindRecord(
        kind=spec.kind,
        queue=spec.queue,
        policy=msgspec.json.decode(policy_json(PolicyChange.of(policy)) or "{}"),
        arguments=spec.schema,
        fingerprint=spec.fingerprint,
        description=spec.description or None,
        declared_by=declarer(),
        promoted=promotion_of(spec, profile).to_json() if spec.promoted else None,
        ordered_by=spec.limits.ordered_by,
        reactions=to_json(reactions_of(spec, builder, registry)) if spec.reactions else None,
        is_limited=bool(spec.limits),
    )


def reactions_of(spec: HandlerSpec, builder: Builder, registry: Registry) -> dict[State, Reaction]:
    """What is stored when jobs of a kind end; raises InvalidSettings for a handler that could not take it."""
    return {state: _reaction(kind, builder, registry) for state, kind in spec.reactions.items()}


def _reaction(kind: str, builder: Builder, registry: Registry) -> Reaction:
    if kind not in registry:
        # Another program's: it waits in the queue that is everybody's, under the name that the guide gives.
        return Reaction(kind=kind, queue=DEFAULT_QUEUE)
    caused = registry.get(kind)
    policy = builder.policy_of(caused, caused.queue)
    return Reaction(
        kind=caused.kind,
        queue=caused.queue,
        argument=caused.only_argument,
        priority=policy.priority,
        ageing_seconds=policy.ageing_step.total_seconds(),
        ordered_by=caused.limits.ordered_by,
    )


def declarer() -> str:
    """Who declares: this machine, with this release."""
    return f"{socket.gethostname()} {__version__}"


def promotion_of(spec: HandlerSpec, profile: Profile) -> Promotion:
    """What a kind promotes, into the table of its application's profile."""
    return Promotion(spec.kind, table_for(profile.name), spec.promoted)
