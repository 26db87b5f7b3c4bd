"""The contract's tests about timestamps, on both stores."""

from backstay.testing.contract.timestamps import *  # noqa: F403 -- pytest collects what is imported here
