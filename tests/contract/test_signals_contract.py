"""The contract's tests about signals, on both stores."""

from windlass.testing.contract.signals import *  # noqa: F403 -- pytest collects what is imported here
