"""Writes events as log lines: JSON for machines, plain for people; arguments of jobs are never among them."""

from __future__ import annotations

import json as json_text
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from windlass.events import CATALOGUE
from windlass.log_lines import for_machines, for_people
from windlass.redaction import redact

_log = logging.getLogger("windlass")
# A program that embeds Windlass decides where log lines go; until it does, they go nowhere.
_log.addHandler(logging.NullHandler())


def log_event(event: str, /, **facts: Any) -> None:
    """Write an event of the catalogue at its level, with its facts as fields."""
    level, _ = CATALOGUE[event]
    if _log.isEnabledFor(level):
        _log.log(level, event, extra={name: redact(value, name=name) for name, value in facts.items()})


def configure(*, json: bool, level: int = logging.INFO, fields: Mapping[str, Any] | None = None) -> None:
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
        extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line = {
            **self._fields,
            **extra,
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "timestamp": at.replace("+00:00", "Z"),
        }
        return json_text.dumps(for_machines(line), default=str)


_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"taskName"}


def _console(fields: Mapping[str, Any]) -> logging.Formatter:
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            lambda _, __, event: {**fields, **event},
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            lambda _, __, event: for_people(event),
            structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty()),
        ],
    )
