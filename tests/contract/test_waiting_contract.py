"""The contract's tests about waiting, on both stores."""

from backstay.testing.contract.waiting import *  # noqa: F403 -- pytest collects what is imported here
