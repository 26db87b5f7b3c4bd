"""What EventBridge sends: the input of a rule as it stands, or the whole event around it."""

from collections.abc import Mapping
from typing import Any

from pydantic import AwareDatetime, Field, model_validator

from backstay.kit import StrictModel
from backstay_watchpoint.domain.catalogue import POLL_DATA
from backstay_watchpoint.domain.polling import LONGEST_LOOK_HOURS

ENVELOPE_KEYS = frozenset(
    {"version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"}
)


class EventPayload(StrictModel):
    """A task of the multiplexer, or a poll with its own arguments; also inside of an event of EventBridge.

    Of a whole event the `detail` is the payload. What that does not say is taken from the event: the task is named
    by its rule, and the time is that of the fire, so that an event which comes late runs the period it was meant for.
    """

    task: str = POLL_DATA
    reference_time: AwareDatetime | None = None
    force_retry: bool = False
    backfill_hours: int = Field(default=0, ge=0, le=LONGEST_LOOK_HOURS)
    limit: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def of_event(cls, given: Any) -> Any:
        """Take the payload out of an event; what is none stays as it is."""
        if not isinstance(given, Mapping) or "detail-type" not in given:
            return given
        strange = sorted(set(given) - ENVELOPE_KEYS)
        if strange:
            raise ValueError(f"an event of EventBridge has no {strange[0]!r}")
        detail = given.get("detail") or {}
        if not isinstance(detail, Mapping):
            raise ValueError("the detail of an event must be an object: task and reference_time")
        found = dict(detail)
        found.setdefault("task", rule_of(given.get("resources")))
        found.setdefault("reference_time", given.get("time"))
        return found


def rule_of(resources: Any) -> str:
    """Return the name at the end of the rule's ARN, as a task is written."""
    first = resources[0] if isinstance(resources, list) and resources else ""
    return str(first).rpartition("/")[2].replace("-", "_")
