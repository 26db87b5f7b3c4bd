"""The contract's tests about settling, on both stores."""

from windlass.testing.contract.settling import *  # noqa: F403 -- pytest collects what is imported here
