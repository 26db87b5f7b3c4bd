"""The contract's tests about signals, on both stores."""

from backstay.testing.contract.signals import *  # noqa: F403 -- pytest collects what is imported here
