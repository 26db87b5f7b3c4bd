"""The contract's tests about schedules, on both stores."""

from backstay.testing.contract.schedules import *  # noqa: F403 -- pytest collects what is imported here
