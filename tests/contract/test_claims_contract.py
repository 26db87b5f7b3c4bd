"""The contract's tests about claims, on both stores."""

from backstay.testing.contract.claims import *  # noqa: F403 -- pytest collects what is imported here
