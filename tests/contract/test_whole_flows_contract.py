"""The contract's tests about flows as a whole, on both stores."""

from backstay.testing.contract.whole_flows import *  # noqa: F403 -- pytest collects what is imported here
