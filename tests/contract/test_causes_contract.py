"""The contract's tests about causes of dead letters, on both stores."""

from backstay.testing.contract.causes import *  # noqa: F403 -- pytest collects what is imported here
