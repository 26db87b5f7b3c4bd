"""What `@app.job(…)` and `@app.batch_job(…)` were given, and the kind it makes of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay.errors import InvalidPolicy, InvalidSettings
from backstay.handlers import codec
from backstay.handlers.spec import Extra, HandlerSpec, RunsIn, describe
from backstay.model.batch import Batching
from backstay.model.limits.declared import NO_LIMITS, LimitFields, declared
from backstay.model.policy.fields import OF_A_WORKER
from backstay.model.policy.policy import PolicyChange, PolicyFields
from backstay.model.promoted_fields import PromotedField
from backstay.model.reactions import EVENTS, ReactionFields
from backstay.model.text.durations import Duration


class KindFields(PolicyFields, LimitFields, ReactionFields, total=False):
    """The policy, the limits and the reactions of a kind as keyword arguments of `@app.job(…)`."""

    extra: Extra
    """What becomes of stored arguments that the function does not take."""
    timeout_by: Callable[..., Duration]
    """How long one run may take by its arguments, where that is less than `timeout`."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@app.job(…)` was given; `fields` are the kind's own policy and limits."""

    kind: str | None
    queue: str
    runs_in: RunsIn | None
    aliases: tuple[str, ...]
    promote: Sequence[str | PromotedField]
    fields: Mapping[str, Any]
    batch: tuple[int, Duration] | None = None
    """The size of batches and how long the first job waits for others, where `@app.batch_job(…)` was given them."""

    def describe(self, function: Callable[..., Any]) -> HandlerSpec:
        """Read a function as the handler that was declared; raises InvalidSettings or InvalidPolicy."""
        about_limits = {
            name: self.fields[name] for name in LimitFields.__annotations__ if name in self.fields
        }
        reactions = {
            EVENTS[name]: _kind_of(name, value) for name, value in self.fields.items() if name in EVENTS
        }
        other = {*about_limits, *EVENTS, "extra", "timeout_by"}
        policy = {name: value for name, value in self.fields.items() if name not in other}
        for field in OF_A_WORKER & set(policy):
            needs = "to be set where workers start: it is a number of a worker, not of a kind"
            raise InvalidPolicy(field, policy[field], needs=needs)
        name = self.kind if self.kind is not None else getattr(function, "__name__", "")
        return describe(
            function,
            kind=self.kind,
            queue=self.queue,
            policy=PolicyChange(policy) if policy else None,
            runs_in=self.runs_in,
            aliases=self.aliases,
            promote=self.promote,
            reactions=reactions,
            extra=self.fields.get("extra", "refuse"),
            timeout_by=self.fields.get("timeout_by"),
            limits=declared(name, about_limits) if about_limits else NO_LIMITS,
            batching=None
            if self.batch is None
            else Batching.of(name, size=self.batch[0], wait=self.batch[1]),
        )


def _kind_of(field: str, given: object) -> str:
    """The kind that a reaction was given as: a handler, or a kind's name."""
    kind = given if isinstance(given, str) else getattr(given, "kind", None)
    if not isinstance(kind, str):
        raise InvalidSettings(f"{field} must be a handler or the name of a kind, not {type(given).__name__}")
    return codec.check_name(field, kind)
