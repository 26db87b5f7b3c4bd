"""Texts that values are read from and written as: durations, sizes, errors, redacted secrets."""
