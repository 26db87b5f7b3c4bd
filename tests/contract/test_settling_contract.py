"""The contract's tests about settling, on both stores."""

from backstay.testing.contract.settling import *  # noqa: F403 -- pytest collects what is imported here
