"""All that the cut matrix cuts: a noun brings its operations, and here they come together."""

from __future__ import annotations

from chaos.archive_operations import ARCHIVE
from chaos.erasing_operations import ERASING
from chaos.figure_operations import FIGURES
from chaos.flow_operations import FLOWS
from chaos.joined_operations import JOINED
from chaos.limit_operations import LIMITS
from chaos.misfit_operations import MISFITS
from chaos.operations import READING, WRITING
from chaos.promoted_operations import PROMOTED
from chaos.reported_operations import REPORTED
from chaos.schedule_operations import LOCKS, SCHEDULES

OPERATIONS = (
    WRITING
    + READING
    + FLOWS
    + LIMITS
    + LOCKS
    + SCHEDULES
    + PROMOTED
    + REPORTED
    + FIGURES
    + JOINED
    + MISFITS
    + ERASING
    + ARCHIVE
)
