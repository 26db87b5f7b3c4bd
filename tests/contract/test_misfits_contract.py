"""The contract's tests about misfits, on both stores."""

from backstay.testing.contract.misfits import *  # noqa: F403 -- pytest collects what is imported here
