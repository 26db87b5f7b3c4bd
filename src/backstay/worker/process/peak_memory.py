"""The most memory that a process has held since it last forgot its peak, as Linux keeps it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_PEAK = re.compile(rb"^VmHWM:\s*([0-9]+) kB", re.MULTILINE)
_FORGET = "5"


def peak_rss_mb(process: int | str = "self") -> int:
    """The peak in megabytes; 0 where the system does not tell, and once the process has ended."""
    # It may end while it is read.
    with suppress(OSError):
        if peak := _PEAK.search(Path(f"/proc/{process}/status").read_bytes()):
            return int(peak[1]) // 1024
    return 0


def forget_peak() -> None:
    """Let the peak of this process begin anew from what it holds now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_FORGET)
