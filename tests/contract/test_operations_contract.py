"""The contract's tests about operations, on both stores."""

from backstay.testing.contract.operations import *  # noqa: F403 -- pytest collects what is imported here
