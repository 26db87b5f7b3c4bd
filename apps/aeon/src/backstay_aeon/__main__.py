"""`python -m backstay_aeon` is the command line."""

from backstay_aeon.cli.main import main

main()
