"""The short benchmark: Backstay and the bare loop, in rounds on the same servers, in less than two minutes."""

from __future__ import annotations

from bench.__main__ import main
from bench.install import CACHE

if __name__ == "__main__":
    # A number of jobs that all of them drain in about a second, so that no time goes into finding it.
    what = ("--peers", "none", "--only", "w1,w1c,w2,w3", "--jobs", "20000")
    main(["--quick", *what, "--out", str(CACHE / "quick.json")])
