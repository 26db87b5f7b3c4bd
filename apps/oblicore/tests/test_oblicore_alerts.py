"""Thresholds that no outage loses, and who is told."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay_oblicore.domain import recipients
from backstay_oblicore.domain.alerts import deadline_alert, renewal_reminder, renewal_severity
from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.words import Channel, Role, Severity

DUE = date(2026, 6, 15)
TWO = (Channel.IN_APP, Channel.EMAIL)
THREE = (*TWO, Channel.SMS)


def look_on(days_before: list[int]) -> dict[int, tuple[str, tuple[Channel, ...]]]:
    """Look at one deadline on the given days and return what each look sent."""
    sent: set[str] = set()
    told = {}
    for days in days_before:
        alert = deadline_alert(DUE, today=DUE - timedelta(days=days), sent=sent)
        if alert:
            assert alert.key not in sent
            sent.add(alert.key)
            told[days] = (alert.severity.value, alert.channels)
    return told


def test_each_threshold_is_told_once_with_its_channels() -> None:
    """OBL-015"""
    assert look_on([8, 7, 7, 6, 5, 4, 3, 3, 2, 1, 1, 0, 0, -1, -1, -2, -3]) == {
        7: ("INFO", TWO),
        3: ("WARNING", TWO),
        1: ("CRITICAL", THREE),
        0: ("CRITICAL", THREE),
        -1: ("CRITICAL", THREE),
        -2: ("CRITICAL", THREE),
        -3: ("CRITICAL", THREE),
    }


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([8, 4, 3], {4: ("INFO", TWO), 3: ("WARNING", TWO)}),
        ([5, 2, 1], {5: ("INFO", TWO), 2: ("WARNING", TWO), 1: ("CRITICAL", THREE)}),
        ([7, 3, -1], {7: ("INFO", TWO), 3: ("WARNING", TWO), -1: ("CRITICAL", THREE)}),
        ([2], {2: ("WARNING", TWO)}),
    ],
)
def test_an_outage_of_three_days_loses_no_alert(
    days: list[int], expected: dict[int, tuple[str, tuple[Channel, ...]]]
) -> None:
    """OBL-015"""
    assert look_on(days) == expected


@given(st.lists(st.integers(-10, 10), min_size=1, max_size=40).map(lambda d: sorted(d, reverse=True)))
def test_however_often_one_looks_the_tightest_reached_threshold_has_been_told(days: list[int]) -> None:
    """OBL-017"""
    sent: set[str] = set()
    for day in days:
        alert = deadline_alert(DUE, today=DUE - timedelta(days=day), sent=sent)
        if alert:
            sent.add(alert.key)
        expected = next((f"due:{t}" for t in (0, 1, 3, 7) if 0 <= day <= t), None)
        assert expected is None or expected in sent
        assert day >= 0 or f"late:{-day}" in sent


def test_managers_are_told_on_days_one_three_and_seven_and_after_an_outage() -> None:
    sent: set[str] = set()
    escalated = []
    for late in (1, 2, 5, 6, 7, 8):
        alert = deadline_alert(DUE, today=DUE + timedelta(days=late), sent=sent)
        assert alert
        sent.add(alert.key)
        escalated += [late] if alert.escalates else []

    assert escalated == [1, 5, 7]


@pytest.mark.parametrize(("days", "expected"), [(91, None), (90, 90), (89, 90), (30, 30), (7, 7), (-1, None)])
def test_a_renewal_reminder_is_reached_at_its_day_or_after(days: int, expected: int | None) -> None:
    """OBL-061"""
    assert renewal_reminder(DUE + timedelta(days=days), today=DUE, sent=set()) == expected


def test_a_renewal_reminder_is_sent_once_and_its_days_can_be_chosen() -> None:
    """OBL-061 OBL-062"""
    assert renewal_reminder(DUE + timedelta(days=89), today=DUE, sent={90}) is None
    assert renewal_reminder(DUE + timedelta(days=60), today=DUE, sent=set(), reminder_days=[60]) == 60
    assert renewal_reminder(DUE + timedelta(days=61), today=DUE, sent=set(), reminder_days=[60]) is None


def test_renewals_grow_louder() -> None:
    """OBL-063"""
    assert [renewal_severity(days) for days in (90, 31, 30, 8, 7)] == [
        Severity.INFO,
        Severity.INFO,
        Severity.WARNING,
        Severity.WARNING,
        Severity.CRITICAL,
    ]


OWNER = Person("a-owner", frozenset({Role.OWNER}))
ADMIN = Person("b-admin", frozenset({Role.ADMIN}))
MANAGER = Person("c-manager", frozenset({Role.ADMIN}), frozenset({"site"}))
STAFF = Person("d-staff", frozenset({Role.STAFF}), frozenset({"site"}))
VIEWER = Person("e-viewer", frozenset({Role.VIEWER}), frozenset({"other"}))


def test_a_reminder_goes_to_the_assignee_else_the_manager_else_the_admin() -> None:
    """OBL-022"""
    people = [STAFF, MANAGER, ADMIN, OWNER]

    assert recipients.for_obligation("d-staff", site="site", people=people) == "d-staff"
    assert recipients.for_obligation(None, site="site", people=people) == "c-manager"
    assert recipients.for_obligation("gone", site="elsewhere", people=people) == "a-owner"
    assert recipients.for_obligation(None, site="site", people=[ADMIN, STAFF]) == "b-admin"
    assert recipients.for_obligation(None, site="site", people=[STAFF]) is None


def test_a_deadline_alert_goes_to_assignee_and_manager() -> None:
    """OBL-019"""
    assert recipients.for_deadline("d-staff", site="site", people=[STAFF, MANAGER]) == [
        "d-staff",
        "c-manager",
    ]
    assert recipients.for_deadline(None, site="x", people=[OWNER, STAFF]) == ["a-owner"]
    assert recipients.for_deadline(None, site="x", people=[STAFF]) == []


def test_renewals_reach_more_people_as_the_date_comes_near() -> None:
    """OBL-063"""
    people = [OWNER, ADMIN, STAFF, VIEWER]

    assert recipients.for_renewal(90, site="site", people=people) == ["a-owner", "b-admin"]
    assert recipients.for_renewal(30, site="site", people=people) == ["a-owner", "b-admin", "d-staff"]
    assert recipients.for_renewal(7, site="other", people=people) == ["a-owner", "b-admin", "e-viewer"]
