"""What is told to the database about a kind, for processes that do not have its handler."""

from __future__ import annotations

import socket

import msgspec

from windlass.policy import Policy, PolicyChange, to_json
from windlass.profile import Profile
from windlass.promotion import Promotion, table_for
from windlass.records import KindRecord
from windlass.registry import HandlerSpec
from windlass.version import VERSION


def record_of(spec: HandlerSpec, policy: Policy, profile: Profile) -> KindRecord:
    """A kind as the database remembers it."""
    return KindRecord(
        kind=spec.kind,
        queue=spec.queue,
        policy=msgspec.json.decode(to_json(PolicyChange.of(policy)) or "{}"),
        arguments=spec.schema,
        fingerprint=spec.fingerprint,
        description=spec.description or None,
        declared_by=declarer(),
        promoted=promotion_of(spec, profile).to_json() if spec.promoted else None,
        ordered_by=spec.limits.ordered_by,
    )


def declarer() -> str:
    """Who declares: this machine, with this release."""
    return f"{socket.gethostname()} {VERSION}"


def promotion_of(spec: HandlerSpec, profile: Profile) -> Promotion:
    """What a kind promotes, into the table of its application's profile."""
    return Promotion(spec.kind, table_for(profile.name), spec.promoted)
