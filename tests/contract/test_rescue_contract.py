"""The contract's tests about rescue, on both stores."""

from backstay.testing.contract.rescue import *  # noqa: F403 -- pytest collects what is imported here
