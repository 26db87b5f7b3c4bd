"""Settings from a file, the environment and code, and where each came from."""

import os
import tempfile
from pathlib import Path

from backstay import Backstay
from backstay.errors import InvalidSettings

folder = Path(tempfile.mkdtemp())
(folder / "backstay.toml").write_text(
    """
    url = "sqlite:///shop.db"
    concurrency = 8
    tick = "2s"
    max_attempts = 6
    """
)
os.environ["BACKSTAY_CONFIG"] = str(folder / "backstay.toml")
os.environ["WORKER_CONCURRENCY"] = "20"

app = Backstay(settings={"tick": "1s"})

for name in ("url", "concurrency", "tick", "leader_lease", "max_attempts", "poll_idle"):
    chosen = app.settings.chosen[name]
    print(f"{name} = {chosen.text}, from {Path(chosen.source).name}")

os.environ["BACKSTAY_CONCURRENCY"] = "lots"
try:
    Backstay()
except InvalidSettings as refused:
    print(refused)
