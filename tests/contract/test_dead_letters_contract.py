"""The contract's tests about dead letters, on both stores."""

from backstay.testing.contract.dead_letters import *  # noqa: F403 -- pytest collects what is imported here
