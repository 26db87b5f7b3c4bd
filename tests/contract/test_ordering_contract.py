"""The contract's tests about ordering keys, on both stores."""

from backstay.testing.contract.ordering import *  # noqa: F403 -- pytest collects what is imported here
