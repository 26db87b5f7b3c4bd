"""The contract's tests about rescue, by the functions for working from SQL."""

from backstay.testing.contract.rescue import *  # noqa: F403 -- pytest collects what is imported here
