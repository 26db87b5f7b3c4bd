"""The contract's tests about locks, on both stores."""

from windlass.testing.contract.locks import *  # noqa: F403 -- pytest collects what is imported here
