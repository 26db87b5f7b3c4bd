"""The contract's tests about steps and progress, on both stores."""

from windlass.testing.contract.steps import *  # noqa: F403 -- pytest collects what is imported here
