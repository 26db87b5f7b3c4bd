"""`python -m backstay_oblicore` is the command line."""

from backstay_oblicore.cli import main

main()
