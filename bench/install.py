"""How does each peer get a place of its own, so that no two share a dependency?"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.contestants import Contestant

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "bench"
# Peers that need a newer Node than the machine has bring one along, from the package of that name.
NODE = "node@24"
INSTALL_SECONDS = 600


class CannotInstall(Exception):
    """A peer could not be installed; the text is the reason, and goes into the report."""


@dataclass(frozen=True)
class Place:
    """What runs a contestant's adapter."""

    program: tuple[str, ...]
    folder: Path
    # Why it is not the newest release, if it is not.
    remark: str = ""


def install(contestant: Contestant) -> Place:
    """Install what the contestant needs unless it is there already. Raises `CannotInstall` with the reason."""
    if not contestant.packages:
        return Place(_python(Path(sys.executable), contestant), ROOT)
    into = _install_node if contestant.language == "node" else _install_python
    try:
        return into(contestant)
    except CannotInstall as error:
        if not contestant.fallback:
            raise
        older = into(replace(contestant, packages=contestant.fallback))
        return replace(older, remark=f"the newest release could not be installed: {error}")


def _folder(contestant: Contestant) -> Path:
    """The same packages are installed once, whoever needs them; removing the folder takes the newest again."""
    wanted = "\n".join((*contestant.packages, str(contestant.minimum_python)))
    return CACHE / "installed" / f"{contestant.language}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"


def _install_python(contestant: Contestant) -> Place:
    folder = _folder(contestant)
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        interpreter = _interpreter(contestant.minimum_python)
        _run([interpreter, "-m", "venv", str(folder)])
        quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
        _run([str(python), "-m", "pip", "install", *quiet, *contestant.packages])
        (folder / "installed").touch()
    return Place(_python(python, contestant), folder)


def _python(python: Path, contestant: Contestant) -> tuple[str, ...]:
    # Without -P an adapter named after its peer would be imported in the peer's stead.
    return (str(python), "-P", "-m", "bench.adapter", contestant.adapter)


def _interpreter(minimum: tuple[int, int]) -> str:
    """This Python, or the nearest newer one: the same for all as far as they allow."""
    if sys.version_info[:2] >= minimum:
        return sys.executable
    found = []
    for minor in range(minimum[1], minimum[1] + 6):
        name = f"python{minimum[0]}.{minor}"
        found += [shutil.which(name) or "", *_known_to_pyenv(name)]
    for path in filter(None, found):
        if subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0:
            return path
    raise CannotInstall(
        f"needs Python {minimum[0]}.{minimum[1]} or newer; this is {sys.version_info[0]}.{sys.version_info[1]}, "
        "and no newer one was found on the PATH or in pyenv"
    )


def _known_to_pyenv(name: str) -> list[str]:
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return sorted(str(path) for path in home.glob(f"versions/*/bin/{name}"))


def _install_node(contestant: Contestant) -> Place:
    folder = _folder(contestant)
    if not (folder / "installed").exists():
        if shutil.which("npm") is None:
            raise CannotInstall("needs npm, which is not on the PATH")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
        npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        _run([*npm, NODE], folder)
        # npm takes the newest releases that fit the Node it runs on, so it has to run on the one just installed.
        _run([*npm, *contestant.packages], folder, first_on_path=Path(_node(folder)).parent)
        (folder / "installed").touch()
    for name in ("adapter.mjs", f"{contestant.adapter}.mjs"):
        # Node looks for packages from where the file lies, so it has to lie beside them.
        shutil.copy(ROOT / "bench" / "peers" / name, folder / name)
    return Place((_node(folder), str(folder / f"{contestant.adapter}.mjs")), folder)


def _node(folder: Path) -> str:
    brought = folder / "node_modules" / "node" / "bin" / "node"
    node = str(brought) if brought.exists() else shutil.which("node")
    if node is None:
        raise CannotInstall("needs node, which is neither on the PATH nor among what npm installed")
    return node


def _run(command: list[str], folder: Path = ROOT, *, first_on_path: Path | None = None) -> None:
    path = os.pathsep.join(filter(None, (str(first_on_path or ""), os.environ.get("PATH", ""))))
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{Path(command[0]).name} took longer than {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        raise CannotInstall(
            _reason(done.stdout + done.stderr) or f"{command[0]} ended with {done.returncode}"
        )


def _reason(printed: str) -> str:
    """The first sentence of what pip or npm has to say; the rest is where they keep their logs."""
    errors = [line for line in printed.splitlines() if line.lower().startswith(("error:", "npm error"))]
    sentences = [
        line.split(maxsplit=3 if line.startswith("npm") else 1)[-1]
        for line in errors
        if len(line.split()) > 4
    ]
    return sentences[0] if sentences else printed.strip()[-200:]
