"""Keeps the wheel of this release in tests/releases, so that later releases are tested beside it and on its tables.

`python tools/freeze_release.py` is part of making a release. A wheel that is there already is never written again:
its migrations have been applied somewhere. With `--into FOLDER` the wheel of the code as it is goes elsewhere.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASES = ROOT / "tests" / "releases"


def main() -> int:
    """Build, and keep what is new."""
    parser = argparse.ArgumentParser(
        description="Keep the wheel of this release for the tests of later ones."
    )
    parser.add_argument("--into", type=Path, default=RELEASES)
    folder: Path = parser.parse_args().into
    with tempfile.TemporaryDirectory(prefix="backstay-release-") as made:
        wheel = build(Path(made))
        kept = folder / wheel.name
        if kept.exists():
            sys.stderr.write(f"{kept} is frozen already: raise the version in pyproject.toml first\n")
            return 1
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(wheel.read_bytes())
    sys.stdout.write(f"{kept}\n")
    return 0


def build(folder: Path) -> Path:
    """Build the wheel of the code as it is, with nothing that it needs."""
    words = ("wheel", "--no-deps", "--quiet", "--disable-pip-version-check", "--wheel-dir", folder, ROOT)
    subprocess.run([sys.executable, "-m", "pip", *map(str, words)], check=True)
    (wheel,) = folder.glob("backstay-*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
