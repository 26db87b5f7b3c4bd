"""The contract's tests about promoted fields, on both stores."""

from backstay.testing.contract.promoted import *  # noqa: F403 -- pytest collects what is imported here
