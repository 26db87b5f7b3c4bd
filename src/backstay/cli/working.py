"""The process of a worker once its options are known: `python -m backstay.cli.working '{"application": …}'`.

Nothing of the command line's libraries is loaded here; they take more memory than an idle worker does.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from backstay.cli import printing
from backstay.cli.session import Session, reporting
from backstay.client.doctor.text import counted, listed

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.worker.worker import Worker

STOPPING = b"Stopping: running jobs may finish; a second signal stops at once.\n"


class LogFormat(StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The quietest events that are still logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What was chosen for a worker, whichever process it runs in."""

    application: str
    log: LogFormat
    log_level: LogLevel
    url: str | None = None
    as_json: bool = False
    debug: bool = False
    queues: str | None = None
    kinds: str | None = None
    concurrency: int | None = None
    worker_id: str | None = None
    worker_type: str = "general"
    shutdown_grace: str | None = None
    max_jobs: int | None = None
    max_memory: str | None = None
    migrate: bool = False
    until_empty: bool = False
    supervised: str | None = None
    """How its supervisor names it: the descriptor that holds them together, and its number."""

    @classmethod
    def read(cls, text: str) -> Chosen:
        """What `command` has written down."""
        told = json.loads(text)
        return cls(**{**told, "log": LogFormat(told["log"]), "log_level": LogLevel(told["log_level"])})

    def command(self) -> list[str]:
        """What starts such a worker in a process of its own."""
        warnings = [f"-W{option}" for option in sys.warnoptions]
        # -P: the application's folder comes later, lest a file of its own there be taken for one of Python's.
        return [sys.executable, "-P", *warnings, "-m", "backstay.cli.working", json.dumps(asdict(self))]

    @property
    def number(self) -> int | None:
        """Which of a supervisor's processes this is, None if it is no supervisor that started it."""
        number = (self.supervised or "").partition(":")[2]
        return int(number) if number else None


def become(chosen: Chosen) -> NoReturn:
    """Go on as such a worker, in the place of the command line, which takes more memory than the worker itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, chosen.command())  # noqa: S606 -- the same program, with what it was told


def main() -> None:
    """Be the worker that the process was started as."""
    chosen = Chosen.read(sys.argv[1])
    session = Session(url=chosen.url, as_json=chosen.as_json, debug=chosen.debug)
    with reporting(session):
        send_logs(chosen)
        work(session, chosen)


def work(session: Session, chosen: Chosen) -> None:
    """Claim and run jobs until a signal comes."""
    from backstay.worker.supervisor_link import SupervisorLink

    # Before the application is imported, which may take long: its starter may be gone by then.
    supervisor_link = SupervisorLink(int(chosen.supervised.partition(":")[0])) if chosen.supervised else None
    app = session.application(chosen.application)
    made = app.worker(
        queues=names(chosen.queues),
        kinds=names(chosen.kinds),
        concurrency=chosen.concurrency,
        worker_id=chosen.worker_id,
        worker_type=chosen.worker_type,
        shutdown_grace=chosen.shutdown_grace,
        process_max_jobs=chosen.max_jobs,
        process_max_memory=chosen.max_memory,
        until_empty=chosen.until_empty,
    )
    # Among lines for machines `worker.stopping` says it.
    _stop_on_signals(made, is_told=chosen.number is None and chosen.log is not LogFormat.JSON)
    if chosen.migrate:
        session.run(lambda app: app.migrate(), app=app)
    _introduce(made, app, chosen)
    if supervisor_link is not None:
        supervisor_link.hold(made, app.url)

    async def run_and_leave() -> None:
        await made.run()
        if made.running:
            # A handler that will not end would keep the event loop, and so the process, forever.
            await app.close()
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(0)

    collect_less_often()
    session.run(lambda _: run_and_leave(), app=app)


def collect_less_often() -> None:
    """Let the garbage collector forget what is there now and look at new objects in larger numbers.

    Jobs pass through a worker by the thousand and free themselves; with Python's own numbers the search for cycles
    among them takes a fifth of the worker's time. Only for a process that is a worker and nothing else.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in a list with commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def send_logs(chosen: Chosen) -> None:
    """Write log lines as was chosen."""
    from backstay.settings import logs

    logs.configure_logging(
        json=chosen.as_json or chosen.log is LogFormat.JSON,
        level=logging.getLevelNamesMapping()[chosen.log_level.upper()],
        fields={} if chosen.number is None else {"process_number": chosen.number},
    )
    root, own = logging.getLogger(), logging.getLogger("backstay")
    if not root.handlers:
        # What handlers write by themselves belongs to the worker's lines as well.
        root.handlers[:] = own.handlers
        root.setLevel(own.level)
    if chosen.as_json:
        for handler in logging.getLogger("backstay").handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)


def tell_stopping() -> None:
    """Say what a signal has set going; where nobody reads any more, to nobody."""
    with suppress(OSError):
        os.write(2, STOPPING)


def _stop_on_signals(worker: Worker, *, is_told: bool) -> None:
    """Stop gracefully at the first signal, at once at the second.

    Not through the event loop: a handler that blocks it would keep the signal from being heard.
    """
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        worker.stop()
        if is_told:
            tell_stopping()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _introduce(worker: Worker, app: Backstay, chosen: Chosen) -> None:
    from backstay.settings.logs import log_event
    from backstay.settings.settings import hide_password

    queues, kinds = names(chosen.queues) or app.settings.queues, names(chosen.kinds) or app.settings.kinds
    handled = [spec for spec in app._registry.handled() if kinds is None or spec.kind in kinds]
    facts: dict[str, Any] = {
        "worker": worker.id,
        "database": hide_password(app.url),
        "kinds": sorted(spec.kind for spec in handled),
        "queues": sorted(queues if queues is not None else {spec.queue for spec in handled}),
        "concurrency": worker.slots[0],
    }
    if chosen.as_json:
        printing.json_line({"message": "worker.starting", **facts})
    elif chosen.log is LogFormat.JSON:
        log_event("worker.starting", **facts)
    else:
        printing.line(
            f"Worker {facts['worker']} on {facts['database']}: {counted(len(handled), 'kind')} "
            f"({listed(facts['kinds'])}) from {listed(facts['queues'])}, {facts['concurrency']} at a time."
        )
    own = {spec.queue for spec in handled}
    # Among lines for machines it would be none of them; `worker.starting` names the queues there.
    for queue in set(queues or ()) - own if chosen.log is not LogFormat.JSON else ():
        printing.note(f"No kind here has the queue {queue!r} as its own (they have {listed(own)}).")


if __name__ == "__main__":
    main()
