"""The contract's tests about claims, on both stores."""

from windlass.testing.contract.claims import *  # noqa: F403 -- pytest collects what is imported here
