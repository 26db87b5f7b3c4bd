"""The contract's tests about waiting, on both stores."""

from windlass.testing.contract.waiting import *  # noqa: F403 -- pytest collects what is imported here
