"""The contract's tests about rates, on both stores."""

from backstay.testing.contract.rates import *  # noqa: F403 -- pytest collects what is imported here
