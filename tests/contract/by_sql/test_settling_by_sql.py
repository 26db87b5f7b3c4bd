"""The contract's tests about settling, by the functions for working from SQL."""

from backstay.testing.contract.settling import *  # noqa: F403 -- pytest collects what is imported here
