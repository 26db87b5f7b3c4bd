"""The frame of a demonstration: a live table, events, sums that it checks itself, an exit code."""

from backstay_parts.demo.frame import Demo, DemoFailed, run_demo
from backstay_parts.demo.sums import Sum

__all__ = ["Demo", "DemoFailed", "Sum", "run_demo"]
