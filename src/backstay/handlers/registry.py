"""Which kinds of jobs there are, and which functions handle them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backstay.errors import InvalidSettings, UnknownKind
from backstay.handlers import codec
from backstay.handlers.spec import DEFAULT_QUEUE, HandlerSpec
from backstay.model import promoted_fields
from backstay.model.limits.declared import QueueLimits, declared
from backstay.model.limits.fairness import Fair, fair_queue
from backstay.model.policy.policy import PolicyChange
from backstay.model.promoted_fields import PromotedField


@dataclass
class Registry:
    """The kinds of one application, found by name or by a retired name, and the limits of its queues."""

    _by_kind: dict[str, HandlerSpec] = field(default_factory=dict)
    _by_name: dict[str, HandlerSpec] = field(default_factory=dict)
    queues: dict[str, QueueLimits] = field(default_factory=dict)
    ceiling: int | None = None
    fair: dict[str, Fair] = field(default_factory=dict)
    """The queues whose tenants take turns."""
    _changes: list[Callable[[HandlerSpec], HandlerSpec]] = field(default_factory=list)

    def change_each(self, change: Callable[[HandlerSpec], HandlerSpec]) -> None:
        """Have every kind changed in some way, also those that come later.

        Handlers that are known already store jobs as before: what changes how jobs are stored must come first.
        """
        self._changes.append(change)
        for kind, spec in list(self._by_kind.items()):
            changed = change(spec)
            self._by_kind[kind] = changed
            self._by_name.update(dict.fromkeys((kind, *spec.aliases), changed))

    def share_fairly(self, queue: str, weights: Mapping[str, int] | None, *, fair: bool) -> None:
        """Let the tenants of a queue take turns, or no longer."""
        if weights and not fair:
            raise InvalidSettings(f"queue {queue!r} has weights, which only count with fair=True")
        self.fair.pop(queue, None)
        if fair:
            self.fair[queue] = fair_queue(queue, weights)

    def add(self, spec: HandlerSpec) -> HandlerSpec:
        """Register a kind; raises InvalidSettings if one of its names is taken."""
        for name in (spec.kind, *spec.aliases):
            other = self._by_name.get(name)
            if other is not None:
                raise InvalidSettings(
                    f"the kind {name!r} is taken by {_origin(other)}: give {_origin(spec)} another name"
                )
        for promoted in spec.promoted:
            for known in self._by_kind.values():
                for same in known.promoted:
                    promoted_fields.refuse_disagreement(spec.kind, promoted, known.kind, same)
        for kind in spec.reactions.values():
            if kind in self._by_name:
                # Raises where its handler could not take what it would be given.
                _ = self._by_name[kind].only_argument
        for change in self._changes:
            spec = change(spec)
        self._by_kind[spec.kind] = spec
        self._by_name.update(dict.fromkeys((spec.kind, *spec.aliases), spec))
        return spec

    def declare(
        self,
        kind: str,
        *,
        queue: str = DEFAULT_QUEUE,
        policy: PolicyChange | None = None,
        promote: Sequence[str | PromotedField] = (),
        ordered_by: str | None = None,
    ) -> HandlerSpec:
        """Make known a kind that another process handles, so that it can be enqueued here."""
        kind, queue = codec.check_name("kind", kind), codec.check_name("queue", queue)
        promoted, limits = (
            promoted_fields.resolve(kind, promote, None),
            declared(kind, {"ordered_by": ordered_by}),
        )
        return self.add(HandlerSpec(kind=kind, queue=queue, policy=policy, promoted=promoted, limits=limits))

    def get(self, kind: str) -> HandlerSpec:
        """The kind of this name or retired name; raises UnknownKind with the nearest names."""
        spec = self._by_name.get(kind)
        if spec is not None:
            return spec
        error = UnknownKind(kind, known=self._by_kind)
        near = difflib.get_close_matches(kind, self._by_name, n=3)
        if near:
            error.add_note(f"Did you mean {' or '.join(map(repr, near))}?")
        raise error

    def kinds(self) -> tuple[str, ...]:
        """The names of all kinds, without retired ones."""
        return tuple(self._by_kind)

    def handled(self) -> tuple[HandlerSpec, ...]:
        """The kinds that can run in this process."""
        return tuple(spec for spec in self._by_kind.values() if not spec.is_declared_only)

    def __contains__(self, kind: object) -> bool:
        return kind in self._by_name

    def __iter__(self) -> Iterator[HandlerSpec]:
        return iter(self._by_kind.values())

    def __len__(self) -> int:
        return len(self._by_kind)


def _origin(spec: HandlerSpec) -> str:
    if spec.function is None:
        return "a declaration"
    return f"{spec.function.__module__}.{getattr(spec.function, '__qualname__', spec.kind)}"
