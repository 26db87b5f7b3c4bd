"""`python -m backstay_watchpoint` is the command line."""

from backstay_watchpoint.cli import main

if __name__ == "__main__":
    main()
