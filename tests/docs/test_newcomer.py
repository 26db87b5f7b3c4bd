"""A newcomer with nothing but the built wheel follows the tutorial's text, word for word."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from backstay.testing import PrivatePostgres

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run: ids, and how long ago something was.
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
AGO = re.compile(r"[0-9.]+(ms|s|m|h)( [0-9]+s)? ago|\bnow\b")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=300)
    [built] = folder.glob("backstay-*.whl")
    return built


@dataclass
class Newcomer:
    """Sits at a terminal in an empty folder and types what the text says."""

    folder: Path
    environment: dict[str, str]
    # What stays in force from line to line, as in one terminal.
    before: list[str] = field(default_factory=list)

    def write(self, title: str, text: str) -> None:
        (self.folder / Path(title).name).write_text(text)

    def type(self, command: str, promised: list[str]) -> None:
        if command.split()[0] in ("export", "source"):
            self.before.append(command)
        elif command.startswith("backstay worker"):
            self.work(command, promised)
        else:
            printed = self.run(command)
            assert not promised or alike(printed) == alike(promised), command

    def run(self, command: str) -> list[str]:
        done = subprocess.run(
            self.shell(command),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.splitlines()

    def work(self, command: str, promised: list[str]) -> None:
        """Let the worker run until Bob's job is dead, then press Ctrl-C."""
        heard: list[str] = []
        with subprocess.Popen(
            self.shell(f"exec {command}"),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                heard.append(line.strip())
                if "job.dead" in line:
                    worker.send_signal(signal.SIGINT)
        assert worker.returncode == 0, heard
        attempts = [line for line in heard if line.startswith("attempt")]
        assert not promised or sorted(attempts) == sorted(promised)
        assert len(attempts) == 4

    def shell(self, command: str) -> list[str]:
        return ["bash", "-e", "-c", "\n".join([*self.before, command])]


def alike(lines: list[str]) -> list[str]:
    return [" ".join(AGO.sub("<ago>", ID.sub("<id>", line)).split()) for line in lines]


def steps() -> Iterator[tuple[str, str, list[str]]]:
    """The tutorial's blocks in order: files to write, and commands with the output that is promised."""
    for language, title, text in BLOCK.findall(TUTORIAL):
        if language == "python":
            yield title, text, []
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, *promised = part.splitlines()
                yield "", command, promised


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_a_newcomer_gets_what_the_tutorial_promises(
    wheel: Path, postgres_server: PrivatePostgres, tmp_path: Path
) -> None:
    postgres_server.create_database("shop")
    constraint = tmp_path / "constraint.txt"
    constraint.write_text(f"backstay @ {wheel.as_uri()}\n")
    folder = tmp_path / "shop"
    folder.mkdir()
    # The text says localhost/shop; where the server really listens is the machine's affair.
    server = {"PGPORT": str(postgres_server.port), "PGUSER": "postgres"}
    kept = {
        name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "HOME", "LANG", "SSL_"))
    }
    newcomer = Newcomer(
        folder,
        {
            **kept,
            **server,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "COLUMNS": "200",
            "PIP_CONSTRAINT": str(constraint),
        },
    )

    for title, text, promised in steps():
        if title:
            newcomer.write(title, text)
        else:
            newcomer.type(text, promised)

    # Nothing of the checkout was used.
    [place] = newcomer.run("python -c 'import backstay; print(backstay.__file__)'")
    assert place.startswith(str(folder))
    on_the_server = json.loads("".join(newcomer.run("backstay jobs --json")))
    assert sorted(job["state"] for job in on_the_server["jobs"]) == ["completed", "dead"]
