"""`python -m backstay_passport`."""

from backstay_passport.cli import main

main()
