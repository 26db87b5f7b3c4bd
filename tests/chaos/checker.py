"""Judges a run by its evidence. It imports nothing of the product, and believes nothing that only one witness says.

Every rule is a function from the evidence to the violations it found, a sentence each. `VACUOUS` rules ask the
opposite: whether what the other rules guard against was tried at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from chaos.evidence import Event, Evidence

ENDS = frozenset({"completed", "resolved", "cancelled"})
STOPPED = ENDS | {"dead"}
SLACK = timedelta(seconds=1)
ROOMS = 4
CRASHES = 3
"""How many crashes condemn a job that is under suspicion; the two that make it a suspect do not count."""
UNCOUNTED = 2
EVERY = 1.0
"""How many seconds are between two fires of the schedule."""

# The state machine as the documentation publishes it, written down again by hand.
ARROWS = {
    None: {"scheduled", "held", "available"},
    "scheduled": {"scheduled", "held", "available", "dead", "cancelled"},
    "held": {"scheduled", "available", "dead", "cancelled"},
    "available": {"scheduled", "held", "running", "dead", "cancelled"},
    "running": {"scheduled", "held", "available", "running", "completed", "dead", "cancelled"},
    "dead": {"scheduled", "available", "resolved"},
}

Rule = Callable[[Evidence], Iterator[str]]


def accepted_is_kept(evidence: Evidence) -> Iterator[str]:
    """V1: every job whose enqueue was answered with ok exists."""
    known = {row.id for row in evidence.rows}
    for call in evidence.calls:
        if call.outcome == "ok" and call.job_id not in known:
            yield f"job {call.job_id} of call {call.n} was accepted and is lost"


def nothing_is_invented(evidence: Evidence) -> Iterator[str]:
    """V2: every job comes from a call that may have happened, and one call makes one job."""
    outcomes: dict[int, set[str]] = defaultdict(set)
    for call in evidence.calls:
        outcomes[call.n].add(call.outcome)
    seen: Counter[int] = Counter()
    for row in evidence.rows:
        if row.n < 0:
            continue  # made by the schedule, which has a rule of its own
        seen[row.n] += 1
        if not outcomes[row.n] - {"refused"}:
            yield f"job {row.id} exists, although call {row.n} was told that it was not stored"
    for n, count in seen.items():
        if count > 1:
            yield f"call {n} made {count} jobs"


def every_job_ends_once(evidence: Evidence) -> Iterator[str]:
    """V3: every job has come to an end, and to one only."""
    for row in evidence.rows:
        if row.state not in STOPPED:
            yield f"job {row.id} ({row.kind}) is stuck: {row.state}, run {row.run}, reason {row.reason}"
    for job_id, events in evidence.by_job().items():
        ends = [event for event in events if event.to_state in STOPPED]
        if len(ends) > 1:
            yield f"job {job_id} ended {len(ends)} times: {[event.to_state for event in ends]}"
        after = [event for event in events if event.from_state in STOPPED]
        if after:
            yield f"job {job_id} went on from {after[0].from_state} to {after[0].to_state}"


def leases_never_overlap(evidence: Evidence) -> Iterator[str]:
    """V4: the epoch is an unbroken chain: one up at a claim and at an exit, two at a takeover, never otherwise."""
    for job_id, events in evidence.by_job().items():
        before = 0
        for event in events:
            if event.from_epoch is not None and event.from_epoch != before:
                yield f"job {job_id}: epoch {before} was followed by a change from {event.from_epoch}"
            rise = event.to_epoch - before
            if rise != _due_rise(event):
                yield (
                    f"job {job_id}: the epoch rose by {rise} instead of {_due_rise(event)} "
                    f"from {event.from_state} to {event.to_state}"
                )
            before = event.to_epoch


def _due_rise(event: Event) -> int:
    if event.is_takeover:
        return 2
    return 1 if event.is_claim or event.is_exit else 0


def leases_follow_the_database(evidence: Evidence) -> Iterator[str]:
    """A lease begins when the database says that it is claimed, whatever the clock of the worker shows."""
    for event in evidence.events:
        if not event.is_claim or event.lease is None or event.lease_expires_at is None:
            continue
        length = event.lease_expires_at - event.at
        if not event.lease - 10 * SLACK <= length <= event.lease + SLACK:
            yield f"job {event.job_id}: a lease of {event.lease} was given until {length} after its claim"


def late_results_are_refused(evidence: Evidence) -> Iterator[str]:
    """V5: what is stored as the result was made by the run that held the claim when it was stored."""
    runs = {(event.job_id, event.to_epoch): event.run for event in evidence.events if event.is_claim}
    results = {row.id: row.result for row in evidence.rows}
    for event in evidence.events:
        if not event.is_exit:
            continue
        if event.settled_epoch != event.from_epoch:
            yield f"job {event.job_id}: settled as epoch {event.settled_epoch} while {event.from_epoch} held it"
        if event.to_state != "completed":
            continue
        result, run = results.get(event.job_id), runs.get((event.job_id, event.from_epoch or 0))
        if result is None or result["run"] != run:
            yield f"job {event.job_id}: completed by {result}, while run {run} held the claim"


def attempts_are_counted(evidence: Evidence) -> Iterator[str]:
    """V6: the budget is kept, and every run that did not complete its job has left one record."""
    spent: Counter[str] = Counter()
    recorded = Counter((tried.job_id, tried.epoch) for tried in evidence.tried)
    for tried in evidence.tried:
        spent[tried.job_id] += tried.status in ("failed", "timeout")
    for row in evidence.rows:
        if row.max_attempts is not None and max(spent[row.id], row.attempt) > row.max_attempts:
            yield f"job {row.id} failed {spent[row.id]} times and may {row.max_attempts} times"
    exits = {
        (event.job_id, event.from_epoch or 0)
        for event in evidence.events
        if event.is_exit and event.to_state != "completed"
    }
    for key in sorted(exits - set(recorded)):
        yield f"job {key[0]}: the run under epoch {key[1]} ended without a record"
    for key in sorted(set(recorded) - exits):
        yield f"job {key[0]}: there is a record of epoch {key[1]}, which ended nothing"


def effects_happen_once(evidence: Evidence) -> Iterator[str]:
    """V7: the run that completed a job had its effect once, and what is written with the completion is there once."""
    ends = Counter((line.job_id, line.run) for line in evidence.lines if line.what == "end")
    written: dict[str, list[int]] = defaultdict(list)
    for job_id, run in evidence.effects:
        written[job_id].append(run)
    for row in evidence.rows:
        if row.state == "completed" and row.result is not None:
            seen = ends[(row.id, row.result["run"])]
            if seen != 1:
                yield f"job {row.id}: run {row.result['run']} completed it and had {seen} effects"
        due = [row.result["run"]] if row.state == "completed" and row.result is not None else []
        if row.kind in evidence.transactional and written[row.id] != due:
            yield f"job {row.id} is {row.state}: effects of the runs {written[row.id]} are stored instead of {due}"
    for (job_id, run), seen in ends.items():
        if seen > 1:
            yield f"job {job_id}: run {run} had {seen} effects"


def rooms_hold_one(evidence: Evidence) -> Iterator[str]:
    """V8: of the jobs with a limit of one for their room never two run, and at the end no permit is left."""
    rooms = {
        row.id: (row.kind, row.n % ROOMS) for row in evidence.rows if row.kind in ("exclusive", "in_line")
    }
    running: dict[tuple[str, int], set[str]] = defaultdict(set)
    for event in evidence.events:
        room = rooms.get(event.job_id)
        if room is None:
            continue
        if event.is_claim:
            running[room].add(event.job_id)
            if len(running[room]) > 1:
                yield f"{len(running[room])} jobs of {room[0]} ran at the same time in room {room[1]}"
        elif event.is_exit:
            running[room].discard(event.job_id)
    if evidence.permits:
        yield f"{evidence.permits} permits are left"


def keys_stand_for_one_job(evidence: Evidence) -> Iterator[str]:
    """V9: one job a key, and the same answer to everybody who sends it."""
    answers: dict[str, set[str]] = defaultdict(set)
    for call in evidence.calls:
        if call.key is not None and call.job_id is not None:
            answers[call.key].add(call.job_id)
    stored = Counter(row.key for row in evidence.rows if row.key is not None)
    for key, ids in answers.items():
        if len(ids) > 1:
            yield f"key {key} was answered with {len(ids)} jobs"
    for key, count in stored.items():
        if count > 1:
            yield f"key {key} has {count} jobs"


def only_published_arrows(evidence: Evidence) -> Iterator[str]:
    """V12: every change is an arrow of the published state machine."""
    for event in evidence.events:
        if event.to_state not in ARROWS.get(event.from_state, set()):
            yield f"job {event.job_id} went from {event.from_state} to {event.to_state}"


def the_dead_have_letters(evidence: Evidence) -> Iterator[str]:
    """Every death has left a letter for a person to read, in its own transaction, and nothing else has."""
    deaths = {
        (event.job_id, event.from_epoch or 0)
        for event in evidence.events
        if event.is_exit and event.to_state == "dead"
    }
    letters = Counter(evidence.letters)
    for key in sorted(deaths ^ set(letters)):
        yield f"job {key[0]}: death under epoch {key[1]} and letters do not agree"


def nobody_starts_early(evidence: Evidence) -> Iterator[str]:
    """A job does not become available before its time."""
    for event in evidence.events:
        if event.from_state == "scheduled" and event.to_state == "available" and event.at < event.run_at:
            yield f"job {event.job_id} became available {event.run_at - event.at} before its time"


def time_is_distrusted_after_a_restart(evidence: Evidence) -> Iterator[str]:
    """Nothing is taken from a worker that was not seen to be dead within one lease of the database's start."""
    for event in evidence.events:
        if not event.is_takeover or event.worker_state == "dead" or event.lease is None:
            continue
        if event.at - event.database_started < event.lease:
            yield f"job {event.job_id} was taken over {event.at - event.database_started} after a restart"


def who_leaves_holds_nothing(evidence: Evidence) -> Iterator[str]:
    """A worker that said goodbye has given back what it held: nothing has to be taken from it."""
    for event in evidence.events:
        if event.is_takeover and event.worker_state == "stopped":
            yield f"job {event.job_id} had to be taken from {event.worker}, which had stopped in order"


def only_poison_is_condemned(evidence: Evidence) -> Iterator[str]:
    """Who shares a worker with a job that kills it does not die with it; the culprit itself does not go on forever.

    We kill workers too, and a poisonous job is not suspected before it has killed twice. A job that is alone under
    suspicion each time is condemned, as nobody could know better: the crashes that count are its last ones, and none
    of them may have been that of a poisonous job that was suspected as well.
    """
    poisons = {row.id for row in evidence.rows if row.kind == "poison"}
    taken_from = defaultdict(list)
    for event in evidence.events:
        if event.is_takeover:
            taken_from[event.job_id].append(event.worker)
    poisoned = {worker for job_id in poisons for worker in taken_from[job_id][UNCOUNTED:]}
    for row in evidence.rows:
        is_condemned = (row.state, row.reason) == ("dead", "crash loop")
        if row.id in poisons and not is_condemned:
            yield f"job {row.id} kills its workers and is {row.state}, reason {row.reason}"
        if row.id not in poisons and is_condemned:
            counted = taken_from[row.id][UNCOUNTED:]
            if len(counted) < CRASHES or poisoned & set(counted[-CRASHES:]):
                others = [taken_from[job_id] for job_id in poisons if set(taken_from[job_id]) & set(counted)]
                yield (
                    f"job {row.id} ({row.kind}) was condemned for crashes that were another's: "
                    f"taken from {taken_from[row.id]}, of them poisoned {poisoned & set(counted)}; "
                    f"the poisonous jobs there were taken from {others}"
                )


def the_living_keep_their_claims(evidence: Evidence) -> Iterator[str]:
    """Only for runs in which no worker was harmed: nothing may then be taken over at all."""
    for event in evidence.events:
        if event.is_takeover:
            yield f"job {event.job_id} was taken from {event.worker}, which was alive and well"


def late_results_were_tried(evidence: Evidence) -> Iterator[str]:
    """V16: workers that had lost a claim did try to use it, and learnt that they could not."""
    if not figures(evidence)["fenced writes"]:
        yield "no late write was refused in this run, so it proves nothing about the fence"


def takeovers_happened(evidence: Evidence) -> Iterator[str]:
    """V16: claims of workers that were gone were taken over."""
    if not figures(evidence)["takeovers"]:
        yield "no claim was taken over in this run, so it proves nothing about rescues"


def replies_were_lost(evidence: Evidence) -> Iterator[str]:
    """V16: commits happened whose reply never arrived."""
    if not figures(evidence)["unknown commits"]:
        yield "no reply to a commit was lost in this run, so it proves nothing about them"


def effects_were_written(evidence: Evidence) -> Iterator[str]:
    """V16: handlers wrote into the database in the transactions that completed their jobs."""
    if not evidence.effects:
        yield "no handler wrote into the database in this run, so it proves nothing about their transactions"


def parents_end_first(evidence: Evidence) -> Iterator[str]:
    """Who waits for another job starts after its end; in these runs, however it ended."""
    ended, started = {}, {}
    for at, event in enumerate(evidence.events):
        if event.to_state in STOPPED:
            ended.setdefault(event.job_id, at)
        if event.is_claim:
            started.setdefault(event.job_id, at)
    for child, parent in evidence.ties:
        if child in started and started[child] < ended.get(parent, len(evidence.events)):
            yield f"job {child} started before {parent}, which it waits for, had ended"


def every_fire_makes_one_job(evidence: Evidence) -> Iterator[str]:
    """V10: the schedule fires every second, none left out and none twice, and each fire makes one job."""
    made, fired = {row.id for row in evidence.rows if row.n < 0}, {job for _, job in evidence.fires}
    for job in made ^ fired:
        yield f"job {job} has no fire" if job in made else f"job {job} of a fire does not exist"
    for (before, _), (after, _) in pairwise(evidence.fires):
        if after - before != EVERY:
            yield f"nothing fired between {before:.0f} and {after:.0f}"


def schedules_fired(evidence: Evidence) -> Iterator[str]:
    """V16: a schedule fired."""
    if not evidence.fires:
        yield "no schedule fired in this run, so it proves nothing about them"


def children_waited(evidence: Evidence) -> Iterator[str]:
    """V16: jobs waited for other jobs."""
    if not evidence.ties:
        yield "no job waited for another one in this run, so it proves nothing about flows"


SAFETY: tuple[Rule, ...] = (
    accepted_is_kept,
    nothing_is_invented,
    every_job_ends_once,
    leases_never_overlap,
    leases_follow_the_database,
    late_results_are_refused,
    attempts_are_counted,
    effects_happen_once,
    rooms_hold_one,
    keys_stand_for_one_job,
    only_published_arrows,
    the_dead_have_letters,
    nobody_starts_early,
    parents_end_first,
    every_fire_makes_one_job,
    time_is_distrusted_after_a_restart,
    who_leaves_holds_nothing,
    only_poison_is_condemned,
)
VACUOUS: tuple[Rule, ...] = (
    late_results_were_tried,
    takeovers_happened,
    replies_were_lost,
    effects_were_written,
    children_waited,
    schedules_fired,
)


def judge(evidence: Evidence, rules: tuple[Rule, ...] = SAFETY + VACUOUS) -> dict[str, list[str]]:
    """The violations of every rule that was broken."""
    found = {rule.__name__: list(rule(evidence)) for rule in rules}
    return {name: violations for name, violations in found.items() if violations}


def figures(evidence: Evidence) -> dict[str, Any]:
    """What happened, in numbers."""
    runs = {(line.job_id, line.run) for line in evidence.lines if line.what == "start"}
    ends = Counter((line.job_id, line.run) for line in evidence.lines if line.what == "end")
    completed = {row.id: row.result["run"] for row in evidence.rows if row.result is not None}
    landed = [fault for fault in evidence.faults if fault["landed"]]
    return {
        "accepted": len({call.job_id for call in evidence.calls if call.outcome == "ok"}),
        "jobs": len(evidence.rows),
        "states": dict(Counter(row.state for row in evidence.rows)),
        "runs": len(runs),
        "effects of runs that were not accepted": sum(
            1 for job_id, run in ends if job_id in completed and completed[job_id] != run
        ),
        "effects in transactions": len(evidence.effects),
        "takeovers": sum(event.is_takeover for event in evidence.events),
        "fenced writes": evidence.told.get("claim.lost", 0),
        "claims given back": evidence.told.get("claim.released", 0),
        "unknown commits": sum(fault.get("unknown_commits", 0) for fault in landed),
        "faults": len(landed),
        "faults by class": dict(sorted(Counter(fault["fault"] for fault in landed).items())),
        "calls": dict(Counter(call.outcome for call in evidence.calls)),
        "lost": len(list(accepted_is_kept(evidence))),
        "double effects": len(list(effects_happen_once(evidence))),
        "overlapping leases": len(list(leases_never_overlap(evidence))),
        "stuck": sum(row.state not in STOPPED for row in evidence.rows),
    }
