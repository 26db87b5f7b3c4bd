"""Writes events as log lines: JSON for machines, plain for people; arguments of jobs are never among them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
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
    # Imported only where it is used: it takes a tenth of a second, and most programs log in their own way.
    import structlog

    plain = structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())
    renderer: Any = structlog.processors.JSONRenderer() if json else plain
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            lambda _, __, event: {**(fields or {}), **event},
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            lambda _, __, event: (for_machines if json else for_people)(event),
            renderer,
        ],
    )
    quiet, loud = logging.StreamHandler(sys.stdout), logging.StreamHandler(sys.stderr)
    quiet.addFilter(lambda record: record.levelno < logging.WARNING)
    loud.setLevel(logging.WARNING)
    for handler in (quiet, loud):
        handler.setFormatter(formatter)
    _log.handlers[:] = [quiet, loud]
    _log.setLevel(level)
    _log.propagate = False
