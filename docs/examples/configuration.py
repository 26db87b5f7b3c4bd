"""Settings from a file, the environment and code, and where each came from."""

import os
import tempfile
from pathlib import Path

from windlass import InvalidSettings, Windlass

folder = Path(tempfile.mkdtemp())
(folder / "windlass.toml").write_text(
    """
    url = "sqlite:///shop.db"
    concurrency = 8
    tick = "2s"
    max_attempts = 6
    """
)
os.environ["WINDLASS_CONFIG"] = str(folder / "windlass.toml")
os.environ["WORKER_CONCURRENCY"] = "20"

app = Windlass(settings={"tick": "1s"})

for name in ("url", "concurrency", "tick", "leader_lease", "max_attempts", "poll_idle"):
    chosen = app.settings.chosen[name]
    print(f"{name} = {chosen.text}, from {Path(chosen.source).name}")

os.environ["WINDLASS_CONCURRENCY"] = "lots"
try:
    Windlass()
except InvalidSettings as refused:
    print(refused)
