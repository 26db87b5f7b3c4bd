"""Where settings come from when code does not give them: the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_URL = "sqlite:///windlass.db"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says."""

    url: str
    worker_id: str | None

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Settings:
        """Read `WINDLASS_URL` and `WINDLASS_WORKER_ID`."""
        return cls(
            url=environment.get("WINDLASS_URL") or DEFAULT_URL,
            worker_id=environment.get("WINDLASS_WORKER_ID") or environment.get("WORKER_ID"),
        )
