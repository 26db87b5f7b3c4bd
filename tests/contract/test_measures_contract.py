"""The contract's tests about measures, on both stores."""

from backstay.testing.contract.measures import *  # noqa: F403 -- pytest collects what is imported here
