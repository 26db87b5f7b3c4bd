"""Tools for testing against the real thing: public, and imported by nothing else in Backstay."""

from backstay.runtime.env import Env
from backstay.testing.clock import FrozenClock
from backstay.testing.database import harness
from backstay.testing.harness import Harness, NotRunnable
from backstay.testing.killing import Statements, kill_at_statement
from backstay.testing.ports import free_port
from backstay.testing.postgres_server import PrivatePostgres
from backstay.testing.redis_server import PrivateRedis
from backstay.testing.results import Drained
from backstay.testing.runner import Ran
from backstay.testing.sync_harness import SyncHarness

__all__ = [
    "Drained",
    "Env",
    "FrozenClock",
    "Harness",
    "NotRunnable",
    "PrivatePostgres",
    "PrivateRedis",
    "Ran",
    "Statements",
    "SyncHarness",
    "free_port",
    "harness",
    "kill_at_statement",
]
