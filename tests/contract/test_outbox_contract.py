"""The contract's tests about the outbox, on both stores."""

from backstay.testing.contract.outbox import *  # noqa: F403 -- pytest collects what is imported here
