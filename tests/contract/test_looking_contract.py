"""The contract's tests about looking, on both stores."""

from windlass.testing.contract.looking import *  # noqa: F403 -- pytest collects what is imported here
