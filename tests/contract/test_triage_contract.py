"""The contract's tests about triage of dead letters, on both stores."""

from backstay.testing.contract.triage import *  # noqa: F403 -- pytest collects what is imported here
