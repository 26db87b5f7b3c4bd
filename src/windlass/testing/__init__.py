"""Tools for testing against the real thing: public, and imported by nothing else in Windlass."""

from windlass.testing.clock import FrozenClock
from windlass.testing.drained import Drained
from windlass.testing.hands import Ran
from windlass.testing.harness import Harness, NotRunnable
from windlass.testing.moving import harness
from windlass.testing.postgres_server import PrivatePostgres
from windlass.testing.sync_harness import SyncHarness

__all__ = [
    "Drained",
    "FrozenClock",
    "Harness",
    "NotRunnable",
    "PrivatePostgres",
    "Ran",
    "SyncHarness",
    "harness",
]
