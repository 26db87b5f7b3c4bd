"""The contract's tests about upkeep, on both stores."""

from backstay.testing.contract.upkeep import *  # noqa: F403 -- pytest collects what is imported here
