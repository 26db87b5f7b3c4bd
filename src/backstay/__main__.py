"""`python -m backstay` is the same as `backstay`."""

from backstay.cli import main

main()
