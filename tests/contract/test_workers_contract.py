"""The contract's tests about workers, on both stores."""

from backstay.testing.contract.workers import *  # noqa: F403 -- pytest collects what is imported here
