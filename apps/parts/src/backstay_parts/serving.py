"""Serves an HTTP application of ours as a process of its own: `python -m …` modules end in `serve(app)`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backstay_parts.optional import need


def serve(make: Callable[[Path], Any], *, description: str) -> None:
    """Read --port and --folder, build the application and serve it until the process is told to end."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the server keeps its state")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    need("uvicorn", extra="servers").run(
        make(options.folder),
        host="127.0.0.1",
        port=options.port,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
