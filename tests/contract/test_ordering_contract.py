"""The contract's tests about ordering keys, on both stores."""

from windlass.testing.contract.ordering import *  # noqa: F403 -- pytest collects what is imported here
