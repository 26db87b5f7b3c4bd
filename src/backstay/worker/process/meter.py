"""What an attempt has used in its process, looked at from outside: one that is killed or crashes tells nothing."""

from __future__ import annotations

from functools import cached_property

import psutil

from backstay.model.records import Measured
from backstay.worker.process.peak_memory import peak_rss_mb


class Meter:
    """Reads one process; of what has ended, the last that was seen stays."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = self._cpu = 0.0
        self._peak_mb = 0

    def start(self) -> None:
        """Count from here on: the process is given another attempt."""
        self._before = self._cpu = self._cpu_seconds()
        self._peak_mb = 0

    def begin(self, *, cpu_before: float, peak_rss_mb: int) -> None:
        """Take the process's own word for what it had used when the handler began."""
        self._before = self._cpu = cpu_before
        self._peak_mb = peak_rss_mb

    def look(self) -> None:
        """Note what is used by now."""
        self._peak_mb = max(self._peak_mb, peak_rss_mb(self._pid) or self.rss_mb())
        self._cpu = max(self._cpu, self._cpu_seconds())

    @property
    def used(self) -> Measured | None:
        """What the attempt had used when it was looked at last; None if it never could be."""
        if not self._peak_mb:
            return None
        return Measured(cpu_ms=round((self._cpu - self._before) * 1000), peak_rss_mb=self._peak_mb)

    def rss_mb(self) -> int:
        """What the process holds now; 0 once it has ended."""
        try:
            held: int = self._process.memory_info().rss
        except psutil.Error:
            return 0
        return held >> 20

    def _cpu_seconds(self) -> float:
        try:
            return float(sum(self._process.cpu_times()[:4]))
        except psutil.Error:
            return 0.0

    @cached_property
    def _process(self) -> psutil.Process:
        return psutil.Process(self._pid)
