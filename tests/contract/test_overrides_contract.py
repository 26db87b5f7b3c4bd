"""The contract's tests about overrides, on both stores."""

from backstay.testing.contract.overrides import *  # noqa: F403 -- pytest collects what is imported here
