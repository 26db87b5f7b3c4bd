"""Figures of a period, and how they are printed."""
