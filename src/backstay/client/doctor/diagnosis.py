"""Which problems the facts about all jobs and workers show, and what to do about each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from backstay.client.doctor.database_findings import bloat, missing_indexes, old_transaction
from backstay.client.doctor.findings import Finding as Finding
from backstay.client.doctor.findings import Severity as Severity
from backstay.client.doctor.text import capped, counted, listed, spoken
from backstay.client.effective_policy import layers_for
from backstay.client.overrides import declared
from backstay.errors import InvalidPolicy
from backstay.model.pauses import Pause
from backstay.model.policy.policy import overridden, resolve
from backstay.model.records import BrokenRule, Engine, Health, KindRecord, Override, Waiting, WorkerRecord

SILENCE = timedelta(seconds=30)
"""A worker gives a sign of life every five seconds; one that was silent for this long is not counted as living."""

LONG_WAIT = timedelta(hours=1)
REGISTERING = timedelta(seconds=10)
DEAD_LETTERS_WARNING, DEAD_LETTERS_ERROR = 10, 50
STUCK_ERROR = 10
CLOCK_JUMP = timedelta(seconds=5)
SQLITE_WITHOUT_RESET_BUG = (3, 51, 3)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Who works, what is paused and where kinds are looked for, at one moment of the database's clock."""

    workers: Sequence[WorkerRecord]
    pauses: Sequence[Pause]
    routes: frozenset[tuple[str, str]]
    engine: Engine

    @property
    def living(self) -> list[WorkerRecord]:
        """The workers that claim jobs now."""
        return [worker for worker in self.workers if is_living(worker)]

    def able(self, queue: str, kind: str) -> list[WorkerRecord]:
        """The living workers that look for this kind in this queue."""
        return [worker for worker in self.living if can_run(worker, queue, kind, self.routes)]

    def pause_of(self, queue: str, kind: str) -> Pause | None:
        """What keeps this kind in this queue from being claimed."""
        return pause_of(self.pauses, queue, kind)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the database said when it was asked about everything."""

    around: Surroundings
    waiting: Sequence[Waiting]
    kinds: Sequence[KindRecord]
    stuck: int
    broken: Sequence[BrokenRule]
    dead_letters: int
    misfits: Mapping[str, int] = field(default_factory=dict)
    health: Health = field(default_factory=Health)
    overrides: Sequence[Override] = ()


def is_living(worker: WorkerRecord) -> bool:
    """Whether the worker claims jobs, as far as its last sign of life tells."""
    return worker.state == "alive" and worker.silent_for <= SILENCE


def can_run(worker: WorkerRecord, queue: str, kind: str, routes: frozenset[tuple[str, str]]) -> bool:
    """Whether the worker looks for this kind in this queue."""
    return kind in worker.kinds and (queue in worker.queues or (queue, kind) in routes)


def pause_of(pauses: Sequence[Pause], queue: str, kind: str) -> Pause | None:
    """The pause that keeps this kind in this queue from being claimed."""
    return next((pause for pause in pauses if queue == pause.queue or kind == pause.kind), None)


def diagnose(facts: Facts) -> list[Finding]:
    """Every finding, the worst first."""
    return worst_first([finding for rule in _RULES for finding in rule(facts)])


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, errors before warnings before what is only good to know."""
    order = (Severity.ERROR, Severity.WARNING, Severity.INFO)
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def schema_drift(lines: Sequence[str]) -> list[Finding]:
    """What to say about tables that are not those of this release."""
    others = [line for line in lines if not line.startswith("missing: index ")]
    found = missing_indexes([line for line in lines if line not in others])
    if others:
        found.append(
            Finding(
                code="schema_drift",
                severity=Severity.ERROR,
                title="the tables are not those of this release",
                detail="; ".join(line[:160] for line in others[:5])
                + (f"; and {len(others) - 5} more" if len(others) > 5 else ""),
                advice="run 'backstay db check' for the whole list, and undo what was changed by hand",
                count=len(others),
            )
        )
    return found


def _no_workers(facts: Facts) -> Iterator[Finding]:
    jobs = sum(pair.jobs for pair in facts.waiting)
    if jobs and not facts.around.living:
        yield Finding(
            code="no_workers",
            severity=Severity.ERROR,
            title="jobs wait and no worker is alive",
            detail=f"{capped(jobs, 'job')} could run now; {_last_seen(facts.around.workers)}",
            advice="start one with 'backstay worker module:app'",
            count=jobs,
        )


def _last_seen(workers: Sequence[WorkerRecord]) -> str:
    if not workers:
        return "no worker has ever been seen on this database"
    last = min(workers, key=lambda worker: worker.silent_for)
    return f"the last sign of life came from {last.id}, {spoken(last.silent_for)} ago"


def _unserved(facts: Facts) -> Iterator[Finding]:
    if not facts.around.living:
        return
    known = {kind for worker in facts.around.living for kind in worker.kinds}
    for pair in facts.waiting:
        if facts.around.pause_of(pair.queue, pair.kind) or facts.around.able(pair.queue, pair.kind):
            continue
        waits = (
            f"{capped(pair.jobs, 'job')} of kind {pair.kind!r} in queue {pair.queue!r}, "
            f"the oldest for {spoken(pair.oldest_for)}"
        )
        if pair.kind not in known:
            yield Finding(
                code="kind_without_worker",
                severity=Severity.WARNING,
                title=f"no living worker knows the kind {pair.kind!r}",
                detail=f"{waits}; the workers know {listed(known)}",
                advice="start a worker whose application registers this kind, or cancel the jobs "
                "if the kind was renamed without an alias",
                count=pair.jobs,
            )
        else:
            served = {queue for worker in facts.around.living for queue in worker.queues}
            yield Finding(
                code="queue_without_worker",
                severity=Severity.WARNING,
                title=f"no living worker looks for {pair.kind!r} in the queue {pair.queue!r}",
                detail=f"{waits}; the workers look into {listed(served)}",
                advice=f"start a worker with --queues {pair.queue}, or one without --queues",
                count=pair.jobs,
            )


def _paused(facts: Facts) -> Iterator[Finding]:
    for pause in facts.around.pauses:
        behind = [pair for pair in facts.waiting if pause_of([pause], pair.queue, pair.kind)]
        if not behind:
            continue
        jobs, oldest = sum(pair.jobs for pair in behind), max(pair.oldest_for for pair in behind)
        what = f"queue {pause.queue!r}" if pause.queue else f"kind {pause.kind!r}"
        option = pause.queue or f"--kind {pause.kind}"
        yield Finding(
            code="paused_jobs",
            severity=Severity.WARNING if oldest > LONG_WAIT else Severity.INFO,
            title=f"jobs wait behind the pause of {what}",
            detail=f"{capped(jobs, 'job')}, the oldest for {spoken(oldest)}; "
            f"paused by {pause.paused_by}: {pause.reason}",
            advice=f"when the reason is gone, run 'backstay resume {option}'",
            count=jobs,
        )


def _long_waits(facts: Facts) -> Iterator[Finding]:
    for pair in facts.waiting:
        able = facts.around.able(pair.queue, pair.kind)
        if pair.oldest_for <= LONG_WAIT or not able or facts.around.pause_of(pair.queue, pair.kind):
            continue
        running = sum(worker.running for worker in able)
        slots = sum(worker.concurrency for worker in able)
        yield Finding(
            code="long_wait",
            severity=Severity.WARNING,
            title=f"jobs of kind {pair.kind!r} wait long in the queue {pair.queue!r}",
            detail=f"the oldest of {capped(pair.jobs, 'job')} could have run {spoken(pair.oldest_for)} ago; "
            f"{counted(len(able), 'worker')} run {running} of {counted(slots, 'slot')}",
            advice="add workers or raise --concurrency; if slots are free, look at the workers' logs",
            count=pair.jobs,
        )


def _versions(facts: Facts) -> Iterator[Finding]:
    versions = {worker.version for worker in facts.around.living}
    if len(versions) > 1:
        yield Finding(
            code="mixed_versions",
            severity=Severity.WARNING,
            title="workers of different versions are alive",
            detail=f"versions {listed(versions)} on {listed({worker.host for worker in facts.around.living})}",
            advice="expected during a deploy; otherwise restart the workers of the older version",
            count=len(versions),
        )


def _conflicts(facts: Facts) -> Iterator[Finding]:
    for record in facts.kinds:
        if record.conflict is None or record.updated_at is None:
            continue
        # A worker registers just before it declares its kinds, so one that is older has the earlier declaration.
        changed = record.updated_at - REGISTERING
        older = [w for w in facts.around.living if record.kind in w.kinds and w.started_at < changed]
        if older:
            yield Finding(
                code="kind_conflict",
                severity=Severity.WARNING,
                title=f"live workers declare the kind {record.kind!r} differently",
                detail=f"{record.declared_by} changed what {record.conflict.get('declared_by')} had declared; "
                f"{listed(worker.id for worker in older)} started before that",
                advice="restart the older workers, so that all run the same code",
                count=len(older),
            )


def _misfits(facts: Facts) -> Iterator[Finding]:
    for kind, jobs in facts.misfits.items():
        yield Finding(
            code="misfit_jobs",
            severity=Severity.WARNING,
            title=f"jobs of kind {kind!r} are held because their arguments fit no living worker's code",
            detail=f"{capped(jobs, 'job')}; each says in its last error which argument it is",
            advice="expected during a deploy; otherwise start workers of the release that stored them, give the new "
            "argument a default, or declare the kind with extra='ignore'",
            count=jobs,
        )


def _tainted(facts: Facts) -> Iterator[Finding]:
    for worker in facts.around.living:
        if worker.tainted:
            yield Finding(
                code="tainted_worker",
                severity=Severity.WARNING,
                title=f"handlers of worker {worker.id} ignore that their time is over",
                detail=f"{worker.tainted} of {counted(worker.concurrency, 'slot')} are lost to them, "
                "although their jobs have long been settled",
                advice="restart the worker, and let such kinds run with runs_in='process', where a time limit kills",
                count=worker.tainted,
            )


def _worker_ids(facts: Facts) -> Iterator[Finding]:
    literal = [worker.id for worker in facts.around.workers if _is_unfilled(worker.id)]
    if literal:
        yield Finding(
            code="unexpanded_worker_id",
            severity=Severity.ERROR,
            title="a worker's id still contains the name of a variable",
            detail=listed(literal),
            advice="set the variable where the worker starts: two workers must never share an id",
            count=len(literal),
        )


def _is_unfilled(worker_id: str) -> bool:
    return "${" in worker_id or not {"undefined", "None", ""}.isdisjoint(worker_id.split("-"))


def _clock(facts: Facts) -> Iterator[Finding]:
    ahead = [worker for worker in facts.around.workers if -worker.silent_for > CLOCK_JUMP]
    if ahead:
        furthest = max(-worker.silent_for for worker in ahead)
        yield Finding(
            code="clock_jump",
            severity=Severity.WARNING,
            title="the database's clock was set back",
            detail=f"the last sign of life of {listed(worker.id for worker in ahead)} lies "
            f"{spoken(furthest)} in the future",
            advice="leases and due times wait until the clock has caught up: let the server slew its clock "
            "instead of stepping it, and look for 'rescue.postponed' in the logs",
            count=len(ahead),
        )


def _overrides(facts: Facts) -> Iterator[Finding]:
    if facts.overrides:
        yield Finding(
            code="overrides",
            severity=Severity.INFO,
            title="operators have overridden numbers of the code",
            detail=listed(f"{one.field} of {one.scope} {one.name} ({one.set_by})" for one in facts.overrides),
            advice="remove those whose reason is gone: 'backstay overrides' lists them",
            count=len(facts.overrides),
        )
    for record in facts.kinds:
        try:
            layers = layers_for(facts.overrides, record.queue, record.kind)
            overridden(resolve(declared(record)), *layers)
        except InvalidPolicy as refused:
            yield Finding(
                code="override_ignored",
                severity=Severity.WARNING,
                title=f"overrides of the kind {record.kind!r} do not fit its code",
                detail=f"{refused}; the code's own numbers count",
                advice="set or remove them with 'backstay overrides'",
            )


def _database(facts: Facts) -> Iterator[Finding]:
    yield from bloat(facts.health)
    yield from old_transaction(facts.health)


def _stuck(facts: Facts) -> Iterator[Finding]:
    if facts.stuck:
        yield Finding(
            code="stuck_claims",
            severity=Severity.ERROR if facts.stuck > STUCK_ERROR else Severity.WARNING,
            title="claims ran out and nobody has taken the jobs back",
            detail=f"{capped(facts.stuck, 'running job')} whose worker stopped renewing",
            advice="a living worker takes them back within seconds, or within a lease after the database was "
            "restarted: start a worker, or look for 'rescue.postponed' and 'duty.failed' in the logs",
            count=facts.stuck,
        )


def _broken(facts: Facts) -> Iterator[Finding]:
    for rule in facts.broken:
        yield Finding(
            code="broken_rows",
            severity=Severity.ERROR,
            title=f"jobs break a rule: {rule.rule}",
            detail=f"{counted(rule.jobs, 'job')}, for example {rule.example}",
            advice="something other than Backstay wrote to the tables; find it, then report the job",
            count=rule.jobs,
        )


def _dead_letters(facts: Facts) -> Iterator[Finding]:
    number = facts.dead_letters
    if number:
        levels = ((DEAD_LETTERS_ERROR, Severity.ERROR), (DEAD_LETTERS_WARNING, Severity.WARNING))
        yield Finding(
            code="dead_letters",
            severity=next((severity for limit, severity in levels if number > limit), Severity.INFO),
            title="dead jobs wait for a decision",
            detail=capped(number, "open dead letter"),
            advice="look at them with 'backstay dead', then retry, resolve or ignore each",
            count=number,
        )


def _sqlite(facts: Facts) -> Iterator[Finding]:
    version = tuple(int(part) for part in facts.around.engine.version.split(".")[:3] if part.isdigit())
    if facts.around.engine.name == "sqlite" and version < SQLITE_WITHOUT_RESET_BUG:
        yield Finding(
            code="sqlite_version",
            severity=Severity.INFO,
            title=f"SQLite {facts.around.engine.version} has a bug with several processes, mended in 3.51.3",
            detail="Backstay's own processes are safe: they take turns through a lock beside the file",
            advice="do not write to the file with other programs, or use SQLite 3.51.3 or newer",
        )


_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _no_workers,
    _unserved,
    _stuck,
    _broken,
    _worker_ids,
    _tainted,
    _clock,
    _database,
    _conflicts,
    _versions,
    _misfits,
    _long_waits,
    _paused,
    _overrides,
    _dead_letters,
    _sqlite,
)
