"""The contract's tests about steps and progress, on both stores."""

from backstay.testing.contract.steps import *  # noqa: F403 -- pytest collects what is imported here
