"""The contract's tests about cancelling, by the functions for working from SQL."""

from backstay.testing.contract.cancelling import *  # noqa: F403 -- pytest collects what is imported here
