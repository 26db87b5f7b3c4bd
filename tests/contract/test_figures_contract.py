"""The contract's tests about figures over time, on both stores."""

from backstay.testing.contract.figures import *  # noqa: F403 -- pytest collects what is imported here
