"""The contract's tests about limits, on both stores."""

from backstay.testing.contract.limits import *  # noqa: F403 -- pytest collects what is imported here
