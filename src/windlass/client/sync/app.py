"""What the blocking twin needs of an application.

Written by tools/generate_sync.py; do not edit.
"""

from __future__ import annotations

from typing import Protocol

from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.flows import Flows
from windlass.client.jobs import Jobs
from windlass.client.limits import Limits
from windlass.client.locks import Locks
from windlass.client.overrides import Overrides
from windlass.client.queues import Queues
from windlass.client.quotas import Quotas
from windlass.client.schedules import Schedules
from windlass.client.signals import Signals
from windlass.client.workers import Workers


class App(Protocol):
    """Where the asynchronous nouns of the running loop are found."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def dead_letters(self) -> DeadLetters: ...

    @property
    def queues(self) -> Queues: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def doctor(self) -> Doctor: ...

    @property
    def overrides(self) -> Overrides: ...

    @property
    def flows(self) -> Flows: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def signals(self) -> Signals: ...

    @property
    def quotas(self) -> Quotas: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def locks(self) -> Locks: ...
