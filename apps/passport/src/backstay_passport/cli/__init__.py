"""The command line `backstay-passport`."""

from backstay_passport.cli.main import main

__all__ = ["main"]
