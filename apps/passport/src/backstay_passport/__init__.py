"""A passport for every single battery, which anybody can scan, read, verify and recompute."""

__version__ = "0.1.0"
