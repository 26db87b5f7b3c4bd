"""The whole run: rounds in which everybody does every workload, in an order that rotates."""

from __future__ import annotations

import dataclasses
import datetime
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from bench import report, workloads
from bench.contestants import Contestant
from bench.growth import Growth, GrowthRuns, Variant
from bench.install import CannotInstall, Place, install
from bench.servers import POSTGRES_SETTINGS, NoServer, Servers
from bench.session import ContestantFailed, Session
from bench.workloads import Figures, Scale

ALL_WORKLOADS = ("w1", "w1c", "w2", "w3", "w4", "w5", "w6")
Workload = tuple[str, Callable[[Session], Figures | None]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run."""

    contestants: Sequence[Contestant]
    only: Sequence[str] = ALL_WORKLOADS
    rounds: int = 3
    # Rounds after those, of what the promised ratios compare and of nothing else.
    close_rounds: int = 5
    # Whether it is only to be seen that everything works; the page says so then.
    is_short: bool = False
    scale: Scale = dataclasses.field(default_factory=Scale)
    growth: Growth = dataclasses.field(default_factory=Growth)


class Benchmark:
    """One run; `run` returns the report."""

    def __init__(self, plan: Plan, servers: Servers, console: Console) -> None:
        self._plan, self._servers, self._console = plan, servers, console
        self._started = time.time()
        self._places: dict[str, Place] = {}
        self._missing: dict[str, str] = {}
        self._about: dict[str, dict[str, Any]] = {}
        self._sizes: dict[str, int] = {}
        self._sessions: dict[str, Session] = {}
        self._runs: list[report.Run] = []

    def run(self) -> report.Report:
        """Install, measure, compute."""
        self._places, self._missing = install_all(self._plan.contestants, self._console)
        for number in range(self._plan.rounds):
            self._round(number)
        self._compare_closely()
        if "w5" in self._plan.only:
            self._idle()
        if "w6" in self._plan.only:
            self._grow()
        return self.report()

    def _round(self, number: int) -> None:
        present = [one for one in self._plan.contestants if one.name in self._places]
        for turn, (name, measure) in enumerate(self._workloads()):
            # By the number of rounds and of workloads, so that nobody always comes first or after the same one.
            first = (number * 5 + turn) % len(present)
            for contestant in (*present[first:], *present[:first]):
                if not contestant.only_drains or name == report.DRAIN:
                    self._measure(contestant, name, number, measure)
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _compare_closely(self) -> None:
        """Rounds without anybody else, so that what is compared runs within seconds of each other."""
        compared = report.compared(self.report())
        for number in self._close_rounds():
            for name, measure in self._workloads():
                present = [one for one in self._plan.contestants if (name, one.name) in compared]
                for contestant in present if number % 2 else reversed(present):
                    self._measure(contestant, name, number, measure)
        self.close()
        self._sessions.clear()

    def _close_rounds(self) -> range:
        return range(self._plan.rounds, self._plan.rounds + self._plan.close_rounds)

    def _workloads(self) -> list[Workload]:
        scale = self._plan.scale
        known: dict[str, list[Workload]] = {
            "w1": [(report.ONE, lambda session: workloads.enqueue_one(session, scale))],
            "w1c": [(report.TOGETHER, lambda session: self._together(session))],
            "w2": [(report.MANY, lambda session: self._many(session))],
            "w3": [
                (report.DRAIN, lambda session: self._drain(session, 1)),
                (report.DRAIN_TWO, lambda session: self._drain(session, 2)),
            ],
            "w4": [(report.LATENCY, lambda session: self._latency(session))],
        }
        return [one for key in self._plan.only for one in known.get(key, [])]

    def _together(self, session: Session) -> Figures | None:
        if _is_another_limit(session.contestant):
            return None
        return workloads.enqueue_together(session, self._plan.scale)

    def _many(self, session: Session) -> Figures | None:
        return workloads.enqueue_many(session, self._plan.scale) if session.about["bulk"] else None

    def _drain(self, session: Session, processes: int) -> Figures:
        name = session.contestant.name
        if name not in self._sizes:
            self._sizes[name] = workloads.drain_size(session, self._plan.scale)
        return workloads.drain(session, self._plan.scale, processes=processes, jobs=self._sizes[name])

    def _latency(self, session: Session) -> Figures | None:
        return None if _is_another_limit(session.contestant) else workloads.latency(session, self._plan.scale)

    def _measure(
        self,
        contestant: Contestant,
        workload: str,
        number: int,
        measure: Callable[[Session], Figures | None],
    ) -> None:
        run = {"workload": workload, "contestant": contestant.name, "round": number}
        try:
            session = self._session(contestant)
            figures = measure(session)
            session.ask("empty")
        except (ContestantFailed, NoServer) as error:
            self._drop(contestant)
            figures = {"error": without_places(str(error))}
        if figures is not None:
            self._record({**run, **figures})

    def _record(self, run: report.Run) -> None:
        self._runs.append(run)
        told = {name: value for name, value in run.items() if name not in ("workload", "contestant", "round")}
        line = f"{run['round'] + 1} {run['workload']:28} {run['contestant']:18} {told}"
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def _session(self, contestant: Contestant) -> Session:
        if contestant.name not in self._sessions:
            self._sessions[contestant.name] = self._open(contestant, contestant.name)
        return self._sessions[contestant.name]

    def _open(self, contestant: Contestant, database: str) -> Session:
        url = self._servers.url(contestant.store, database)
        session = Session(contestant, self._places[contestant.name], url)
        self._about.setdefault(contestant.name, session.about["versions"])
        return session

    def _drop(self, contestant: Contestant) -> None:
        if (session := self._sessions.pop(contestant.name, None)) is not None:
            session.close()

    def _idle(self) -> None:
        present = [one for one in self._plan.contestants if one.name in self._places and one.role != "limit"]
        sessions = []
        try:
            for contestant in present:
                try:
                    sessions.append(self._session(contestant))
                except (ContestantFailed, NoServer) as error:
                    self._record_idle(contestant.name, {"error": without_places(str(error))})
            # Autovacuum looks into each database from time to time, which is not the workers' doing.
            self._autovacuum("off")
            for name, figures in workloads.idle(sessions, self._plan.scale).items():
                self._record_idle(name, figures)
        finally:
            self._autovacuum("on")
            for contestant in present:
                self._drop(contestant)

    def _record_idle(self, name: str, figures: Figures) -> None:
        self._record({"workload": report.IDLE, "contestant": name, "round": 0, **figures})

    def _autovacuum(self, wanted: str) -> None:
        workloads.execute(self._servers.postgres.url(), f"ALTER SYSTEM SET autovacuum = {wanted}")
        workloads.execute(self._servers.postgres.url(), "SELECT pg_reload_conf()")

    def _grow(self) -> None:
        ours = next(one for one in self._plan.contestants if one.name == report.OURS)
        if report.OURS not in self._sizes:
            self._drain(self._session(ours), 1)
            self._drop(ours)

        def opened(database: str, concurrency: str) -> Session:
            return self._open(dataclasses.replace(ours, option=concurrency), database)

        jobs = self._sizes[report.OURS]
        runs = GrowthRuns(opened, self._plan.growth, self._plan.scale, jobs=jobs)
        try:
            runs.prepare()
            variants = runs.variants()
            for number in range(self._plan.rounds):
                first = number * 4 % len(variants)
                self._growth_round(number, (*variants[first:], *variants[:first]))
            compared = report.compared(self.report())
            closely = [variant for variant in variants if (variant[0], ours.name) in compared]
            for number in self._close_rounds():
                first = number % len(closely)
                self._growth_round(number, (*closely[first:], *closely[:first]))
        finally:
            runs.close()

    def _growth_round(self, number: int, variants: Sequence[Variant]) -> None:
        for name, measure in variants:
            try:
                figures = measure()
            except ContestantFailed as error:
                figures = {"error": without_places(str(error))}
            self._record({"workload": name, "contestant": report.OURS, "round": number, **figures})

    def close(self) -> None:
        """End the adapters of a run that was cut short."""
        for session in self._sessions.values():
            session.close()

    def report(self) -> report.Report:
        """What was measured so far."""
        made = datetime.datetime.fromtimestamp(self._started, datetime.UTC)
        took = round(time.time() - self._started)
        told: report.Report = {
            "made": {"at": made.isoformat(timespec="seconds"), "took_seconds": took},
            "machine": machine(),
            "settings": {
                "rounds": self._plan.rounds,
                "close_rounds": self._plan.close_rounds,
                "short": self._plan.is_short,
                "only": list(self._plan.only),
                "scale": dataclasses.asdict(self._plan.scale),
                "growth": dataclasses.asdict(self._plan.growth),
                "postgres": {"fsync": "on", **POSTGRES_SETTINGS},
                "redis": self._servers.redis_settings,
            },
            "contestants": [self._row(contestant) for contestant in self._plan.contestants],
            "runs": self._runs,
        }
        return {**told, "summary": report.summary(told), "ratios": report.ratios(told)}

    def _row(self, contestant: Contestant) -> dict[str, Any]:
        place = self._places.get(contestant.name)
        reason = self._missing.get(contestant.name, "the run ended before")
        remark = without_places(place.remark) if place else f"not measured: {reason}"
        return {
            "name": contestant.name,
            "role": contestant.role,
            "language": contestant.language,
            "store": contestant.store,
            "settings": contestant.settings,
            "done": contestant.done,
            "keeps": dataclasses.asdict(contestant.keeps),
            "versions": self._about.get(contestant.name, {}),
            "remark": remark,
        }


def _is_another_limit(contestant: Contestant) -> bool:
    """Whether it shows a limit of a drain alone; one of them also does what takes callers and an idle worker."""
    return contestant.role == "limit" and contestant.name != report.BARE


def install_all(
    contestants: Sequence[Contestant], console: Console
) -> tuple[dict[str, Place], dict[str, str]]:
    """Where each one runs, and why some do not; what is installed already is left as it is."""
    places: dict[str, Place] = {}
    missing: dict[str, str] = {}
    for contestant in contestants:
        try:
            places[contestant.name] = install(contestant)
            console.print(
                f"installed: {contestant.name} {places[contestant.name].remark}",
                highlight=False,
                soft_wrap=True,
            )
        except CannotInstall as error:
            missing[contestant.name] = without_places(str(error))
            console.print(
                f"[red]{contestant.name} cannot be installed:[/] {error}", highlight=False, soft_wrap=True
            )
    return places, missing


def machine() -> dict[str, Any]:
    """What it was measured on."""
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    model = re.search(r"model name\s*: (.*)", text)
    return {
        "cores": psutil.cpu_count(),
        "processor": model[1] if model else platform.processor(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "postgres": _printed("postgres", "--version"),
        "redis": _printed("redis-server", "--version"),
        "commit": _printed("git", "rev-parse", "--short", "HEAD"),
    }


def without_places(text: str) -> str:
    """An error without the addresses and folders of the machine it happened on."""
    text = re.sub(r"\S*(?:https?|file)://\S+", "…", text)
    return re.sub(r"(?<![\w@])/(?:[\w.@+-]+/)+[\w.@+-]*", "…", text).strip()


def _printed(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except OSError:
        return "not on the PATH"
    return done.stdout.strip()[:60]
