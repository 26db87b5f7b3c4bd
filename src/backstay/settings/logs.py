"""Writes events as log lines: JSON for machines, plain for people; arguments of jobs are never among them."""

from __future__ import annotations

import json as json_text
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from backstay.model.events import CATALOGUE
from backstay.model.outcome import ErrorInfo
from backstay.model.text.error_text import error_info
from backstay.model.text.redaction import redact
from backstay.settings.log_lines import for_machines, for_people

_log = logging.getLogger("backstay")
# A program that embeds Backstay decides where log lines go; until it does, Python writes warnings to standard error.


def is_logged(event: str) -> bool:
    """Whether a line would be written of this event, at the level that is set now."""
    return _log.isEnabledFor(CATALOGUE[event][0])


def log_event(event: str, /, **facts: Any) -> None:
    """Write an event of the catalogue at its level, with its facts as fields."""
    level, _ = CATALOGUE[event]
    if _log.isEnabledFor(level):
        told = {name: redact(value, name=name) for name, value in facts.items()}
        if event in _SENTENCES:
            _log_sentence(level, event, told)
        else:
            _log.log(level, event, extra=told)


_SENTENCES = {
    "job.started": "attempt {attempt} of job {job_id} ({kind}) started",
    "job.completed": "job {job_id} ({kind}) completed",
    "job.misfit": "job {job_id} ({kind}) does not fit this worker's code and is held",
    "job.failed": "attempt {attempt} of job {job_id} ({kind}) failed",
    "job.dead": "job {job_id} ({kind}) is dead",
}


def _log_sentence(level: int, event: str, told: Mapping[str, Any]) -> None:
    """For programs with logging of their own: what happened in words, with the traceback where it belongs."""
    error = told.get("error_details") or {}
    what = ": ".join(str(error[name]) for name in ("name", "message") if error.get(name))
    sentence = _SENTENCES[event].format(**told) + (f": {what}" if what else "")
    record = _log.makeRecord(
        _log.name, level, __file__, 0, sentence, (), None, extra={**told, "event_name": event}
    )
    record.exc_text = error.get("stack")
    _log.handle(record)


def configure_logging(
    *, json: bool, level: int = logging.INFO, fields: Mapping[str, Any] | None = None
) -> None:
    """Send log lines to the terminal: warnings and errors to standard error, the rest to standard output.

    `fields` go into every line.
    """
    formatter = JsonLines(fields or {}) if json else _console(fields or {})
    quiet, loud = logging.StreamHandler(sys.stdout), logging.StreamHandler(sys.stderr)
    quiet.addFilter(lambda record: record.levelno < logging.WARNING)
    loud.setLevel(logging.WARNING)
    for handler in (quiet, loud):
        handler.setFormatter(formatter)
    _log.handlers[:] = [quiet, loud]
    _log.setLevel(level)
    _log.propagate = False


class JsonLines(logging.Formatter):
    """Log records as JSON objects, one a line.

    Structlog could write them too, but what it imports for its other forms takes a seventh of a worker's memory.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__()
        self._fields = fields

    def format(self, record: logging.LogRecord) -> str:
        error = _error_of(record)
        details = error and {"name": error.type, "message": error.message, "stack": error.traceback}
        line = _line(record, self._fields, {"error_details": details} if details else {})
        return json_text.dumps(for_machines(line), default=str)


_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"taskName", "event_name"}


def _line(record: logging.LogRecord, fields: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a record; one that has the name of a field of every line gets an underscore, as in `level_`."""
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
    own = {
        "event": vars(record).get("event_name") or record.getMessage(),
        "level": record.levelname.lower(),
        "timestamp": at.replace("+00:00", "Z"),
        **error,
    }
    facts = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    return {**fields, **{f"{name}_" if name in own else name: facts[name] for name in facts}, **own}


def _error_of(record: logging.LogRecord) -> ErrorInfo | None:
    # Outside of an `except`, `log.exception` gives three times None.
    error = record.exc_info[1] if record.exc_info else None
    return None if error is None else error_info(error, error_class="")


def _console(fields: Mapping[str, Any]) -> logging.Formatter:
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[lambda _, __, event: {**event, **_for_terminal(event, fields)}],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            lambda _, __, event: for_people(event),
            # Its usual formatter shows the values of all variables, secrets and arguments among them.
            structlog.dev.ConsoleRenderer(
                colors=sys.stdout.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
    )


def _for_terminal(event: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    record = event["_record"]
    error = _error_of(record)
    # As text, which is redacted like any other: the exception itself would be written as it is.
    line = _line(record, fields, {"exception": error.traceback} if error else {})
    # The record has lost its arguments by now; the message was made before.
    text = line["event"] if "event_name" in vars(record) else event["event"]
    return {**line, "event": text, "exc_info": None}
