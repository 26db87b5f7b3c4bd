"""The contract's tests about claims, by the functions for working from SQL."""

from backstay.testing.contract.claims import *  # noqa: F403 -- pytest collects what is imported here
