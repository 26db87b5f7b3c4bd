"""The contract's tests about schedules, on both stores."""

from windlass.testing.contract.schedules import *  # noqa: F403 -- pytest collects what is imported here
