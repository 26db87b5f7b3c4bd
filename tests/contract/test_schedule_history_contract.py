"""The contract's tests about overlapping fires and history, on both stores."""

from backstay.testing.contract.schedule_history import *  # noqa: F403 -- pytest collects what is imported here
