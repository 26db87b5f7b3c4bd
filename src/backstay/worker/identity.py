"""Who a worker is: an id that no other process and no other start ever shares."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from backstay.errors import InvalidSettings

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
LONGEST_ID = 255


def worker_id(template: str | None, environment: Mapping[str, str], start: UUID) -> str:
    """The id of one start of a worker: the template, filled from the environment, and a part that is never reused.

    `${NAME}` and `${NAME:-default}` stand for environment variables. Raises InvalidSettings for a variable that is
    not set, and for an id that would still contain `${`.
    """
    name = template or f"{socket.gethostname()}-{os.getpid()}"
    filled = _VARIABLE.sub(lambda match: _value(match, name, environment), name)
    if "${" in filled or not filled.strip():
        raise InvalidSettings(f"worker id {name!r} becomes {filled!r}: write ${{NAME}} or plain text")
    unique = f"{filled}-{start.hex[-12:]}"
    if len(unique) > LONGEST_ID:
        raise InvalidSettings(f"worker id {unique[:40]!r}… is longer than {LONGEST_ID} characters")
    return unique


def _value(match: re.Match[str], template: str, environment: Mapping[str, str]) -> str:
    variable, default = match.group(1), match.group(2)
    value = environment.get(variable, default)
    if not value:
        raise InvalidSettings(
            f"worker id {template!r} needs the environment variable {variable}, which is not set: "
            f"set it, or write ${{{variable}:-default}}"
        )
    return value


def boot_id() -> str | None:
    """What tells this start of the machine from every other, where the system says so.

    Containers may share a machine and even its name without seeing each other's processes; the namespace of process
    numbers is therefore part of it.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None
