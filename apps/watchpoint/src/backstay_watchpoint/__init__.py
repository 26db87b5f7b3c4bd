"""Watchpoint: the maintenance of a weather-alert platform, on Backstay."""

__version__ = "0.1.0"
