"""Which test shows which numbered requirement: a page written from a passing run."""

from backstay_parts.traceability.page import Shown, find_points, load_points, render

__all__ = ["Shown", "find_points", "load_points", "render"]
