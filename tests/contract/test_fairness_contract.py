"""The contract's tests about fair queues, on both stores."""

from backstay.testing.contract.fairness import *  # noqa: F403 -- pytest collects what is imported here
