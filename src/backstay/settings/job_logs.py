"""Log lines that handlers write about their jobs, wherever they run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from backstay.model.text.redaction import redact

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_job_log = logging.getLogger("backstay.job")
_PLAIN = (str, int, float, bool, type(None))
_TAKEN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime"}


def job_log(**facts: Any) -> BoundLogger:
    """A logger for one job, whose lines carry these facts and go where all lines of Backstay go."""
    import structlog

    bound: BoundLogger = structlog.wrap_logger(
        _job_log,
        processors=[structlog.stdlib.filter_by_level, _as_log_record],
        wrapper_class=structlog.stdlib.BoundLogger,
    ).bind(**facts)
    return bound


def job_level() -> int:
    """Below this, lines of jobs are not written."""
    return _job_log.getEffectiveLevel()


def relay(level: int, event: str, facts: Mapping[str, Any]) -> None:
    """Write a line of a job that ran elsewhere."""
    if _job_log.isEnabledFor(level):
        _job_log.log(level, event, extra=dict(facts))


def forward(handler: logging.Handler) -> None:
    """Hand every line of jobs to this handler and to no other, as they belong into another process's log."""
    _job_log.handlers[:] = [handler]
    _job_log.propagate = False


def set_job_level(level: int) -> None:
    """Write no lines of jobs below this level."""
    _job_log.setLevel(level)


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """The facts of a line, as JSON can hold them."""
    facts = {name: value for name, value in vars(record).items() if name not in _TAKEN}
    return {name: value if isinstance(value, _PLAIN) else str(value) for name, value in facts.items()}


def _as_log_record(logger: Any, method: str, facts: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """What the standard library's loggers take: the event, and its facts as extra fields of the record."""
    told: dict[str, Any] = {
        name: facts.pop(name) for name in ("exc_info", "stack_info", "stacklevel") if name in facts
    }
    event = facts.pop("event", "")
    # A record has names of its own, which a fact must not take.
    return {
        "msg": event,
        "extra": {
            f"{name}_" if name in _TAKEN else name: redact(value, name=name) for name, value in facts.items()
        },
        **told,
    }
