"""The contract's tests about failures, on both stores."""

from backstay.testing.contract.failures import *  # noqa: F403 -- pytest collects what is imported here
