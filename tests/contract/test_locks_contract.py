"""The contract's tests about locks, on both stores."""

from backstay.testing.contract.locks import *  # noqa: F403 -- pytest collects what is imported here
