"""The filters of the list of jobs, as they stand in the address of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from uuid import UUID

from backstay.dashboard.views.depths import Amount, amount_of
from backstay.errors import InvalidSettings
from backstay.kit.hrefs import with_query
from backstay.model.job import JobId
from backstay.model.records import JobFilter, QueueCount
from backstay.model.states import FINAL, State

SPANS = {
    "1h": ("last hour", timedelta(hours=1)),
    "24h": ("last 24 hours", timedelta(hours=24)),
    "7d": ("last 7 days", timedelta(days=7)),
    "30d": ("last 30 days", timedelta(days=30)),
}
LABELS = {
    "state": "State",
    "kind": "Kind",
    "queue": "Queue",
    "tenant": "Tenant",
    "worker": "Worker",
    "tag": "Tag",
    "error": "Error class",
    "created_by": "Created by",
    "correlation": "Correlation",
    "parent": "Parent",
    "created": "Created",
    "created_from": "Created from",
    "created_to": "Created before",
    "field": "Field",
}
LONGEST_NAME = 80
FIRST_YEAR, LAST_YEAR = 1900, 9000
"""A moment that a person means; at the edges of the calendar arithmetic with it would overflow."""
READY_VIEWS = (
    ("Running now", {"state": "running"}),
    ("Waiting for somebody or something", {"state": "held"}),
    ("Died in the last day", {"state": "dead", "created": "24h"}),
    ("Timeouts of the last day", {"error": "timeout", "created": "24h"}),
    ("Victims of crashes", {"error": "crashed"}),
    ("Unknown errors of the last week", {"error": "unknown", "created": "7d"}),
)


@dataclass(frozen=True)
class Chosen:
    """One filter in force: what it says, and the address without it."""

    name: str
    label: str
    value: str
    without: str


@dataclass(frozen=True)
class JobQuery:
    """What the address asks for; every field is a text, empty where nothing was asked."""

    state: str = ""
    kind: str = ""
    queue: str = ""
    tenant: str = ""
    worker: str = ""
    tag: str = ""
    error: str = ""
    """The class of the last error, such as `timeout`."""
    created_by: str = ""
    correlation: str = ""
    parent: str = ""
    created: str = ""
    created_from: str = ""
    created_to: str = ""
    field: str = ""
    """A promoted field and its value, as in `patient=17`."""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> JobQuery:
        """Read the query of an address; names of other things are left alone."""
        return cls(**{one.name: given.get(one.name, "").strip() for one in fields(cls)})

    @property
    def given(self) -> dict[str, str]:
        """The filters in force by name."""
        named = {one.name: str(getattr(self, one.name)) for one in fields(self)}
        return {name: value for name, value in named.items() if value}

    @property
    def href(self) -> str:
        """The address of the list with these filters."""
        return with_query("/jobs", self.given.items())

    @property
    def chosen(self) -> list[Chosen]:
        """The filters in force, each with the address that leaves it out."""
        given = self.given
        return [
            Chosen(name, LABELS[name], _shown(name, value), _without(given, name))
            for name, value in given.items()
        ]

    @property
    def words(self) -> str:
        """The filters in force as a person would say them."""
        return ", ".join(f"{one.label.lower()} {one.value}" for one in self.chosen) or "any state"

    def to_filter(self, now: datetime) -> JobFilter:
        """Return what to ask the client for; raises InvalidSettings for a value that cannot be."""
        states: list[State | str] = [word.strip() for word in self.state.split(",") if word.strip()]
        return JobFilter(
            state=(states[0] if len(states) == 1 else states) if states else None,
            kind=self.kind or None,
            queue=self.queue or None,
            tenant=self.tenant or None,
            worker=self.worker or None,
            tag=self.tag or None,
            error_class=self.error or None,
            created_by=self.created_by or None,
            correlation_id=self.correlation or None,
            parent_id=JobId(id_of(self.parent)) if self.parent else None,
            created_from=self._from(now),
            created_to=moment_of("created_to", self.created_to) if self.created_to else None,
            promoted=_field(self.field) if self.field else None,
        )

    def _from(self, now: datetime) -> datetime | None:
        if self.created_from:
            return moment_of("created_from", self.created_from)
        if not self.created:
            return None
        if self.created not in SPANS:
            raise InvalidSettings(f"created is one of {', '.join(SPANS)}, not {self.created!r}")
        return now - SPANS[self.created][1]


def page_after(cursor: str | None, now: datetime) -> str | None:
    """Return the place of the next page: the cursor, and the moment that spans such as "last hour" are counted from."""
    return None if cursor is None else f"{cursor}@{now.isoformat()}"


def page_place(given: str, now: datetime) -> tuple[str | None, datetime]:
    """Read the place of a page: its cursor and moment; raises InvalidSettings for a malformed moment."""
    cursor, _, moment = given.partition("@")
    return cursor or None, moment_of("cursor", moment) if moment else now


def view_name(given: Mapping[str, str]) -> str:
    """Return what a view is called by the address that leads to it; empty where nobody has named it."""
    return " ".join(given.get("view", "").split())[:LONGEST_NAME]


def ready_views() -> list[tuple[str, str]]:
    """Return views that most people need, each with its address."""
    return [(name, with_query("/jobs", filters.items(), view=name)) for name, filters in READY_VIEWS]


def state_counts(counts: Sequence[QueueCount], query: JobQuery) -> list[tuple[str, str, Amount | None]]:
    """Return the chips of states with how many jobs of the chosen queue and kind are in each.

    A number is left out where another filter is in force and for jobs that have ended, because nobody counts those.
    """
    is_known = set(query.given) <= {"state", "kind", "queue"}
    return [
        (
            state.value.capitalize() if state is not State.AVAILABLE else "Ready",
            state.value,
            sum((amount_of(one) for one in counts if one.state is state and _fits(one, query)), Amount())
            if is_known and state not in FINAL
            else None,
        )
        for state in State
    ]


def id_of(text: str) -> UUID:
    """Read an id; raises InvalidSettings for a malformed one."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidSettings(f"{text[:80]!r} is no id of a job") from None


def is_id(text: str) -> bool:
    """Return True if the text is an id."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def moment_of(name: str, text: str) -> datetime:
    """Read a moment as forms send it; one without a zone is UTC."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSettings(f"{name} is no moment: {text[:40]!r}; write it as 2026-03-01T09:30") from None
    if not FIRST_YEAR <= read.year <= LAST_YEAR:
        raise InvalidSettings(
            f"{name} lies in the year {read.year}: choose one from {FIRST_YEAR} to {LAST_YEAR}"
        )
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def names_of(values: Iterable[str | None]) -> list[str]:
    """Return each name once, in order: what a field offers for completion."""
    return sorted({value for value in values if value})


def _fits(count: QueueCount, query: JobQuery) -> bool:
    return query.queue in ("", count.queue) and query.kind in ("", count.kind)


def _shown(name: str, value: str) -> str:
    return SPANS[value][0] if name == "created" and value in SPANS else value


def _without(given: Mapping[str, str], name: str) -> str:
    return with_query("/jobs", [(key, value) for key, value in given.items() if key != name])


def _field(text: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidSettings("a field is written with its value, as in patient=17")
    return {name.strip(): value.strip()}
