"""What `@app.job(…)` and `@app.batch_job(…)` were given, and the kind it makes of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.batch import Batching
from windlass.durations import Duration
from windlass.limits import NO_LIMITS, LimitFields, declared
from windlass.policy import PolicyChange, PolicyFields
from windlass.promotion import Promoted
from windlass.registry import HandlerSpec, RunsIn, describe


class KindFields(PolicyFields, LimitFields, total=False):
    """The policy and limits of a kind as keyword arguments of `@app.job(…)`."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@app.job(…)` was given; `fields` are the kind's own policy and limits."""

    kind: str | None
    queue: str
    runs_in: RunsIn | None
    aliases: tuple[str, ...]
    promote: Sequence[str | Promoted]
    fields: Mapping[str, Any]
    batch: tuple[int, Duration] | None = None
    """The size of batches and how long the first job waits for others, where `@app.batch_job(…)` was given them."""

    def describe(self, function: Callable[..., Any]) -> HandlerSpec:
        """Read a function as the handler that was declared; raises InvalidSettings or InvalidPolicy."""
        about_limits = {
            name: self.fields[name] for name in LimitFields.__annotations__ if name in self.fields
        }
        policy = {name: value for name, value in self.fields.items() if name not in about_limits}
        name = self.kind if self.kind is not None else getattr(function, "__name__", "")
        return describe(
            function,
            kind=self.kind,
            queue=self.queue,
            policy=PolicyChange(policy) if policy else None,
            runs_in=self.runs_in,
            aliases=self.aliases,
            promote=self.promote,
            limits=declared(name, about_limits) if about_limits else NO_LIMITS,
            batching=None
            if self.batch is None
            else Batching.of(name, size=self.batch[0], wait=self.batch[1]),
        )
