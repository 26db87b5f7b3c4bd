"""Puts the parts together: the only package that knows every part; it decides nothing."""
