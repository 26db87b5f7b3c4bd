"""The contract's tests about audit, on both stores."""

from backstay.testing.contract.audit import *  # noqa: F403 -- pytest collects what is imported here
