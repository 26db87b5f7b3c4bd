"""The contract's tests about transitions, on both stores."""

from backstay.testing.contract.transitions import *  # noqa: F403 -- pytest collects what is imported here
