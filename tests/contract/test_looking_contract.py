"""The contract's tests about looking, on both stores."""

from backstay.testing.contract.looking import *  # noqa: F403 -- pytest collects what is imported here
