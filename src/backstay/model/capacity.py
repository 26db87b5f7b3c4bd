"""How many workers a load needs: slots by the theory of queues, processes by slots and processors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backstay.errors import InvalidPolicy

DATABASE_RATE = 8000.0
"""Jobs a second that one PostgreSQL stores and settles with half of it to spare, measured on two processors."""
LATE_SHARE = 0.05
BUSIEST = 0.8
"""Beyond this share of processors or slots in use, waits grow faster than the load."""
MOST_SLOTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked for."""

    rate: float
    """Jobs a second, at the busiest time."""
    takes: float
    """Seconds that one attempt takes, on average."""
    within: float
    """Seconds within which 95 of 100 jobs must have started."""
    failing: float = 0.0
    """The share of attempts that fail and are tried again."""
    cpu: float = 0.0
    """Seconds of processor time of one attempt."""
    concurrency: int = 10
    """Slots of a worker process."""
    cores: int = 4
    """Processors of a machine."""
    database_rate: float = DATABASE_RATE
    """Jobs a second that one database carries."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What that needs."""

    attempts: float
    """Attempts a second, retries included."""
    slots: int
    """Jobs that must be able to run at the same time."""
    processes: int
    """Worker processes."""
    machines: int
    """Machines for these processes."""
    databases: int
    """Databases that the tenants have to be divided among."""
    in_use: float
    """The share of slots that are in use on average."""
    late: float
    """The share of jobs that start later than asked for."""
    reason: str
    """What decided the number of processes: slots or processors."""


def plan(load: Load) -> Plan:
    """The smallest number of workers that does it; raises InvalidPolicy for a load that cannot be."""
    _check(load)
    attempts = load.rate / (1 - load.failing)
    slots = _slots(attempts, load.takes, load.within)
    # An event loop uses one processor, however many slots it has.
    by_slots, by_cpu = math.ceil(slots / load.concurrency), math.ceil(attempts * load.cpu / BUSIEST)
    processes = max(by_slots, by_cpu, 1)
    held = processes * load.concurrency
    return Plan(
        attempts=attempts,
        slots=slots,
        processes=processes,
        machines=math.ceil(processes / load.cores),
        databases=max(1, math.ceil(attempts / load.database_rate)),
        in_use=attempts * load.takes / held,
        late=late_share(attempts, load.takes, held, load.within),
        reason="slots" if by_slots >= by_cpu else "processors",
    )


def late_share(rate: float, takes: float, slots: int, within: float) -> float:
    """The share of jobs that wait longer than that, where they come by chance and take differently long (M/M/c)."""
    busy = rate * takes
    if busy >= slots:
        return 1.0
    blocked = 1.0
    for number in range(1, slots + 1):
        blocked = busy * blocked / (number + busy * blocked)
    waits = blocked / (1 - busy / slots * (1 - blocked))
    return waits * math.exp(-(slots - busy) * within / takes)


def _slots(rate: float, takes: float, within: float) -> int:
    # Where many share the slots, hardly anybody waits until they are all in use: leave some free all the same.
    fewest = max(1, math.ceil(rate * takes / BUSIEST))
    most = fewest
    while late_share(rate, takes, most, within) > LATE_SHARE:
        fewest, most = most + 1, most * 2
    while fewest < most:
        middle = (fewest + most) // 2
        if late_share(rate, takes, middle, within) > LATE_SHARE:
            fewest = middle + 1
        else:
            most = middle
    return most


def _check(load: Load) -> None:
    positive = {
        "rate": load.rate,
        "takes": load.takes,
        "within": load.within,
        "database_rate": load.database_rate,
    }
    for name, value in positive.items():
        if not 0 < value < math.inf:
            raise InvalidPolicy(name, value, needs="a number above 0")
    if not 0 <= load.failing < 1:
        raise InvalidPolicy("failing", load.failing, needs="a share from 0 to below 1, as in 0.05")
    if not 0 <= load.cpu <= load.takes:
        raise InvalidPolicy("cpu", load.cpu, needs=f"from 0 to what an attempt takes, {load.takes:g} s")
    if load.concurrency < 1 or load.cores < 1:
        raise InvalidPolicy("concurrency", load.concurrency, needs="at least one slot and one processor")
    if load.rate / (1 - load.failing) * load.takes > MOST_SLOTS / 2:
        raise InvalidPolicy(
            "rate", load.rate, needs=f"at most {MOST_SLOTS // 2:,} jobs at work at the same time"
        )
