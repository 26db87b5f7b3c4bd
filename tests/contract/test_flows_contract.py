"""The contract's tests about flows, on both stores."""

from backstay.testing.contract.flows import *  # noqa: F403 -- pytest collects what is imported here
