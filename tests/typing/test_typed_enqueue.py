"""A type checker sees mistakes in enqueued arguments before the program runs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parents[2]

PREAMBLE = """\
from dataclasses import dataclass
from typing import Any

from backstay.context import Context
from backstay.handler import Application, job_decorator
from backstay.handlers.spec import describe


def enqueuer() -> Application:
    raise NotImplementedError


job = job_decorator(describe, enqueuer())


@dataclass
class Report:
    pages: int


@job
async def render(ctx: Context, user_id: int, *, draft: bool = False) -> Report:
    return Report(user_id)


@job
def add(left: int, right: int) -> int:
    return left + right


@job
async def keep(value: object) -> None: ...


@job
async def anything(value: Any) -> None: ...


async def main() -> None:
"""

LINES = {
    "right": "await render.enqueue(1)",
    "right by name": "await render.enqueue(user_id=1, draft=True)",
    "right with options": 'await render.options(delay="5m", key="a").enqueue(1)',
    "right without a loop": "add.enqueue_sync(1, right=2)",
    "right for any value": "await keep.enqueue(value=1)",
    "right for an untyped value": "await anything.enqueue(value=1)",
    "right as a call": "add(1, 2) + (await render(1)).pages",
    "wrong type": 'await render.enqueue("1")',
    "missing": "await render.enqueue()",
    "unknown": "await render.enqueue(1, colour=2)",
    "with the context": "await render.enqueue(Context(), 1)",
    "wrong type after options": 'await render.options(delay="5m").enqueue("1")',
    "wrong type without a loop": 'add.enqueue_sync(1, "2")',
    "wrong type kept for later": 'add.args(1, "2")',
    "unknown option": 'render.options(dealy="5m")',
    "option of a wrong type": "render.options(queue=7)",
    "handler": "reveal_type(render)",
    "result": "reveal_type(await (await render.enqueue(1)).result())",
    "result without a loop": "reveal_type(add.enqueue_sync(1, 2).result_sync())",
    "kept for later": "reveal_type(render.args(1))",
    "many": 'reveal_type(await render.enqueue_many([{"user_id": 1}]))',
    "many without a loop": 'reveal_type(add.options(delay="5m").enqueue_many_sync([{"left": 1, "right": 2}]))',
}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy says about each of LINES; checked together, because starting mypy takes seconds."""
    folder = tmp_path_factory.mktemp("typed")
    program = folder / "program.py"
    program.write_text(PREAMBLE + textwrap.indent("\n".join(LINES.values()), "    ") + "\n")

    options = [
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(folder / "cache"),
    ]
    output, problems, _ = api.run([*options, "--hide-error-context", str(program)])

    assert problems == ""
    return said_by_line(output, program)


def said_by_line(output: str, program: Path) -> dict[str, str]:
    first = PREAMBLE.count("\n") + 1
    names = list(LINES)
    said = dict.fromkeys(names, "")
    for line in output.splitlines():
        place = re.match(rf".*{re.escape(program.name)}:(\d+): (.*)", line)
        if place:
            number = int(place[1]) - first
            assert number >= 0, line
            said[names[number]] += place[2] + "\n"
    return said


@pytest.mark.parametrize("name", [name for name in LINES if name.startswith("right")])
def test_a_right_call_passes(messages: dict[str, str], name: str) -> None:
    assert messages[name] == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong type", 'incompatible type "str"; expected "int"'),
        ("missing", 'Missing positional argument "user_id"'),
        ("unknown", 'Unexpected keyword argument "colour"'),
        ("with the context", "error"),
        ("wrong type after options", 'incompatible type "str"; expected "int"'),
        ("wrong type without a loop", 'incompatible type "str"; expected "int"'),
        ("wrong type kept for later", 'incompatible type "str"; expected "int"'),
        ("unknown option", 'Unexpected keyword argument "dealy"'),
        ("option of a wrong type", 'incompatible type "int"; expected "str | None"'),
    ],
)
def test_a_wrong_call_is_refused_on_its_line(messages: dict[str, str], name: str, message: str) -> None:
    assert message in messages[name]


@pytest.mark.parametrize(
    ("name", "revealed"),
    [
        ("handler", "AsyncHandler[[user_id: int, *, draft: bool =], program.Report]"),
        ("result", '"program.Report"'),
        ("result without a loop", '"int"'),
        ("kept for later", "JobArgs[program.Report]"),
        ("many", "list[backstay.handle.JobHandle[program.Report]]"),
        ("many without a loop", "list[backstay.handle.JobHandle[int]]"),
    ],
)
def test_types_are_known(messages: dict[str, str], name: str, revealed: str) -> None:
    assert revealed in messages[name].replace("builtins.", "")
