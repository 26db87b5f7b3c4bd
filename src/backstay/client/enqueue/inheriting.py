"""What a job has from the one whose handler stores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backstay.context import is_running_here, running_here
from backstay.handler import JobArgs
from backstay.options import JobOptions


def inherited(options: JobOptions, home: str) -> JobOptions:
    """The options of a child of the job that runs here: tenant, correlation id and parent are that job's, if not given.

    Only within the database `home`; where no handler runs, or one of another database, the options stay as they are.
    """
    if not is_running_here() or (parent := running_here(home)) is None:
        return options
    return replace(
        options,
        parent=parent.job_id if options.parent is None else options.parent,
        tenant=parent.tenant if options.tenant is None else options.tenant,
        correlation_id=parent.correlation_id or str(parent.job_id)
        if options.correlation_id is None
        else options.correlation_id,
    )


def all_inherited(calls: Sequence[JobArgs[Any]], home: str) -> Sequence[JobArgs[Any]]:
    """The same for many calls."""
    if not is_running_here() or running_here(home) is None:
        return calls
    return [JobArgs(call.spec, call.args_text, inherited(call.options, home)) for call in calls]
