"""The contract's tests about reactions, on both stores."""

from backstay.testing.contract.reactions import *  # noqa: F403 -- pytest collects what is imported here
