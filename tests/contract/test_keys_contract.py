"""The contract's tests about keys, on both stores."""

from backstay.testing.contract.keys import *  # noqa: F403 -- pytest collects what is imported here
