"""`python -m backstay_exora` is the command `backstay-exora`."""

from backstay_exora.cli import main

if __name__ == "__main__":
    main()
