"""The contract's tests about cancelling, on both stores."""

from backstay.testing.contract.cancelling import *  # noqa: F403 -- pytest collects what is imported here
