"""What pages show, computed without a request: words for rules, places of a graph, the verdict, copies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from backstay.client.doctor.findings import Finding, Severity
from backstay.dashboard.recent import Recent
from backstay.dashboard.views.failures import hours_of
from backstay.dashboard.views.figures import duration_chart, filled_minutes, throughput_chart, wait_chart
from backstay.dashboard.views.flow_graph import graph_of
from backstay.dashboard.views.reasons import alert_reasons, failure_reasons, late_reasons
from backstay.dashboard.views.schedule_words import rule_words
from backstay.dashboard.views.sentences import pieces_of
from backstay.dashboard.views.verdict import verdict_of
from backstay.model.alerts import Alert
from backstay.model.figures import Figures, FiguresAt
from backstay.model.flows import Dependency, DependencyRecord, FlowJob, Verdict
from backstay.model.job import JobId
from backstay.model.records import DeadLetterHour
from backstay.model.schedules.cron import Every
from backstay.model.schedules.cron_parser import read_rule
from backstay.model.schedules.schedule import Definition, JobTemplate, Schedule
from backstay.model.states import State

NOW = datetime(2026, 3, 1, 12, 30, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour"),
        ("0 */6 * * *", "every 6 hours"),
        ("0 3 * * *", "at 03:00"),
        ("0,30 9 * * *", "at 09:00 and 09:30"),
        ("30 6 * * 1-5", "at 06:30 from Monday to Friday"),
        ("0 8 * * 0,6", "at 08:00 on Saturday and Sunday"),
        ("0 8 * * 1,3", "at 08:00 on Monday and Wednesday"),
        ("0 0 1 * *", "at 00:00 on day 1 of the month"),
        ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month"),
        ("0 0 L * *", "at 00:00 on the last day of the month"),
        ("0 7 * * 1#1", "at 07:00 on the first Monday of the month"),
        ("0 0 1 1,7 *", "at 00:00 on day 1 of the month in January and July"),
        ("5,10,20 8-17 * * *", "at minutes 5, 10 and 20 of hours 8 to 17"),
    ],
)
def test_a_rule_is_said_in_words(rule: str, words: str) -> None:
    assert rule_words(read_rule(rule)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(60, "every minute"), (900, "every 15 minutes"), (86_400, "every day"), (90, "every 90 seconds")],
)
def test_an_interval_is_said_in_words(seconds: int, words: str) -> None:
    assert rule_words(Every(timedelta(seconds=seconds))) == words


def job(number: int, state: State = State.HELD, label: str = "") -> FlowJob:
    return FlowJob(
        id=JobId(UUID(int=number)), kind="kind", queue="q", state=state, reason=None, label=label or None,
        started_at=None, finished_at=None,
    )  # fmt: skip


def tie(child: int, parent: int, verdict: Verdict | None = None) -> DependencyRecord:
    dependency = Dependency(job_id=JobId(UUID(int=child)), parent_id=JobId(UUID(int=parent)))
    return DependencyRecord(dependency, verdict, None)


def test_each_job_of_a_flow_stands_right_of_what_it_waits_for() -> None:
    members = [job(4), job(1), job(2), job(3)]

    graph = graph_of(members, [tie(2, 1), tie(3, 1), tie(4, 2), tie(4, 3, Verdict.MET)])

    at = {node.id.int: (node.x, node.y) for node in graph.nodes}
    assert at[1][0] < at[2][0] == at[3][0] < at[4][0]
    assert len(set(at.values())) == 4
    assert sorted(arrow.kind for arrow in graph.arrows) == ["met", "open", "open", "open"]
    assert all(x + 168 <= graph.width and y + 44 <= graph.height for x, y in at.values())


def test_a_large_flow_is_drawn_in_part_and_an_empty_one_not_at_all() -> None:
    large = graph_of([job(number) for number in range(1, 600)], [])

    assert (len(large.nodes), large.left_out) == (400, 199)
    assert graph_of([], []).nodes == []


def test_long_labels_are_cut_and_told_on_hover() -> None:
    [node] = graph_of([job(1, State.DEAD, "l" * 60)], []).nodes

    assert len(node.label) == 22
    assert "l" * 60 in node.title
    assert node.tone == "bad"


def finding(severity: Severity, code: str = "dead_letters") -> Finding:
    return Finding(code=code, severity=severity, title="jobs died", detail="", advice="")


@pytest.mark.parametrize(
    ("severities", "word", "summary"),
    [
        ([], "well", "Nothing keeps a job from running."),
        ([Severity.INFO], "well", "Nothing keeps a job from running; a few things are good to know."),
        ([Severity.WARNING, Severity.INFO], "attention", "One reason; 1 more thing good to know."),
        ([Severity.ERROR, Severity.WARNING], "broken", "2 reasons, the worst first."),
    ],
)
def test_the_verdict_is_as_bad_as_the_worst_finding(
    severities: list[Severity], word: str, summary: str
) -> None:
    verdict = verdict_of([finding(severity) for severity in severities])

    assert (verdict.word, verdict.summary) == (word, summary)
    assert all(reason.href == "/dead-letters" for reason in verdict.reasons)


def attempts(completed: int, failed: int) -> list[FiguresAt]:
    return [FiguresAt(NOW, Figures(completed=completed, failed=failed))]


@pytest.mark.parametrize(
    ("hour", "before", "is_told"),
    [
        ((80, 20), (1000, 10), True),
        ((80, 20), (0, 0), True),
        ((80, 20), (800, 200), False),
        ((98, 2), (1000, 1), False),
        ((8, 9), (1000, 0), False),
    ],
)
def test_more_failures_than_usual_are_a_reason_to_look(
    hour: tuple[int, int], before: tuple[int, int], is_told: bool
) -> None:
    told = failure_reasons(attempts(*hour), attempts(*before))

    assert [reason.href for reason in told] == (["/failures"] if is_told else [])
    assert verdict_of([], told).word == ("attention" if is_told else "well")


def test_late_schedules_are_named_and_a_long_list_is_cut() -> None:
    def schedule(name: str, late: timedelta) -> Schedule:
        definition = Definition(job=JobTemplate(kind="tidy", queue="night"), cron="0 3 * * *")
        return Schedule(
            id=UUID(int=1), name=name, tenant="", declared=definition, source="code", declared_by="ann",
            next_fire_at=NOW - late,
        )  # fmt: skip

    [told] = late_reasons([schedule(f"s{n}", timedelta(hours=1)) for n in range(5)], NOW)

    assert (told.title, told.detail, told.href) == ("5 schedules late", "s0, s1, s2 and 2 more", "/schedules")
    assert late_reasons([schedule("soon", timedelta(seconds=-5))], NOW) == []


def test_a_critical_alert_makes_the_verdict_bad() -> None:
    alert = Alert(
        id=UUID(int=1), rule="worker_down", severity="critical", message="2 workers have died",
        action="restart_worker", value=2, threshold=0, fired_at=NOW, announced_at=None, cleared_at=None,
    )  # fmt: skip

    verdict = verdict_of([finding(Severity.WARNING)], alert_reasons([alert]))

    assert (verdict.word, verdict.reasons[0].title) == ("broken", "Alert: worker down")
    assert verdict.reasons[0].href == "/alerts"


def test_an_unknown_finding_leads_to_the_system() -> None:
    assert verdict_of([finding(Severity.ERROR, "something_new")]).reasons[0].href == "/system"


def test_minutes_without_an_end_are_shown_as_empty() -> None:
    found = [
        FiguresAt(NOW.replace(minute=28, second=0), Figures(completed=4, p50_ms=100, p95_ms=200, p99_ms=300))
    ]
    waited = [
        FiguresAt(found[0].at, Figures(completed=4, wait_p50_ms=50, wait_p95_ms=60_000, wait_p99_ms=60_000))
    ]

    minutes = filled_minutes(found, NOW, timedelta(minutes=5))

    assert [(one.at.minute, one.figures.completed) for one in minutes] == [
        (26, 0), (27, 0), (28, 4), (29, 0), (30, 0),
    ]  # fmt: skip
    assert [shape.title for shape in throughput_chart(minutes).shapes] == ["12:28, completed: 4"]
    assert not duration_chart(minutes).empty
    assert wait_chart(minutes).empty
    assert wait_chart(filled_minutes(waited, NOW, timedelta(minutes=5))).ticks[1] == "50 s".replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def test_deaths_are_counted_by_the_hour() -> None:
    hours = {0: 2, 2: 1, 72: 5}
    this_hour = NOW.replace(minute=0, second=0)
    counted = [
        DeadLetterHour(fingerprint="f", at=this_hour - timedelta(hours=ago), letters=letters)
        for ago, letters in hours.items()
    ]

    assert hours_of(counted, NOW, hours=4) == [0, 1, 0, 2]


async def test_an_answer_is_shared_for_a_while_and_asked_for_anew_when_something_changed() -> None:
    time, asked = [0.0], list[int]()
    recent = Recent[int](2.0, clock=lambda: time[0])

    async def ask() -> int:
        asked.append(1)
        return len(asked)

    first = [await recent.get("a", ask), await recent.get("a", ask)]
    time[0] = 3.0
    later = await recent.get("a", ask)
    recent.forget()

    assert (first, later, await recent.get("a", ask)) == ([1, 1], 2, 3)


JOB = "01a1f1ed-89ca-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        (f"It waits for 1 job to end: {JOB}.", [(JOB, f"/jobs/{JOB}", False)]),
        (
            "It is held by a limit: key album:1 is full (1 at a time). It goes on by itself ('backstay limits').",
            [("key album:1", "/limits/key%20album%3A1", False), ("backstay limits", "", True)],
        ),
        ("The limit 'kind send' has no room now.", [("kind send", "/limits/kind%20send", False)]),
        ("The queue 'mail' was paused by ada: it's late.", [("mail", "/queues/mail", False)]),
        (f"It is dead: 'backstay dead retry {JOB}'.", [(f"backstay dead retry {JOB}", "", True)]),
        ("Nothing is in its way.", []),
    ],
)
def test_what_a_sentence_names_leads_there(sentence: str, named: list[tuple[str, str, bool]]) -> None:
    pieces = pieces_of(sentence)

    marked = [(one.text, one.href, one.is_command) for one in pieces if one.href or one.is_command]
    assert marked == named
    assert "".join(f"'{one.text}'" if one.is_command else one.text for one in pieces) == sentence
