"""Canaries: watchpoints whose alert is known beforehand, so that a broken pipeline shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROLE_KEY = "system_role"
CANARY_ROLE = "canary"
EXPECTED_KEY = "canary_expect_trigger"
SEVERITY = "critical"


class AlertName(StrEnum):
    """The two ways in which a canary can be wrong."""

    MISSED = "CanaryMissedTrigger"
    FALSE = "CanaryFalseTrigger"


@dataclass(frozen=True, slots=True)
class Canary:
    """A canary and whether it has triggered."""

    watchpoint_id: str
    metadata: Mapping[str, Any]
    has_triggered: bool
    name: str = ""


@dataclass(frozen=True, slots=True)
class CanaryAlert:
    """A canary that did not behave as expected."""

    name: AlertName
    watchpoint_id: str
    message: str
    severity: str = SEVERITY


def is_canary(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a watchpoint is a canary; canaries are not billed."""
    return metadata.get(ROLE_KEY) == CANARY_ROLE


def check(canaries: Iterable[Canary]) -> list[CanaryAlert]:
    """Return an alert for each canary whose trigger state is not the expected one."""
    return [alert for canary in canaries if (alert := _alert(canary)) is not None]


def _alert(canary: Canary) -> CanaryAlert | None:
    expected = canary.metadata.get(EXPECTED_KEY) is True
    if expected == canary.has_triggered:
        return None
    called = f"{canary.name} ({canary.watchpoint_id})" if canary.name else canary.watchpoint_id
    if expected:
        message = f"{called} should have triggered and did not"
        return CanaryAlert(AlertName.MISSED, canary.watchpoint_id, message)
    message = f"{called} has triggered and should not have"
    return CanaryAlert(AlertName.FALSE, canary.watchpoint_id, message)
