"""The contract's tests about enqueuing, on both stores."""

from backstay.testing.contract.enqueuing import *  # noqa: F403 -- pytest collects what is imported here
