"""The contract's tests about pauses and quotas, on both stores."""

from backstay.testing.contract.pausing import *  # noqa: F403 -- pytest collects what is imported here
