"""The contract's tests about debounced jobs, on both stores."""

from backstay.testing.contract.debouncing import *  # noqa: F403 -- pytest collects what is imported here
