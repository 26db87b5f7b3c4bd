"""Does the reference of the API have every public name, with the signature that a call really takes?"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_overloads

import pytest

import backstay
from backstay import errors, records, testing

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference" / "api"
MODULES = (backstay, errors, records, testing)


@pytest.fixture(scope="module", autouse=True)
def tools() -> Any:
    """The tools are programs, not packages: they import each other by the folder they are in."""
    sys.path.insert(0, str(ROOT / "tools"))
    yield
    sys.path.remove(str(ROOT / "tools"))


def sections() -> dict[str, str]:
    """What stands below each heading, by the heading."""
    parts: dict[str, str] = {}
    for page in PAGES.glob("*.md"):
        for part in re.split(r"^##+ ", page.read_text(), flags=re.MULTILINE)[1:]:
            heading, _, text = part.partition("\n")
            parts[heading] = text
    return parts


def public_classes() -> list[Any]:
    found = [getattr(module, name) for module in MODULES for name in dir(module) if name[0].isupper()]
    return [one for one in found if inspect.isclass(one) and one.__module__.startswith("backstay")]


def test_every_public_name_has_its_section() -> None:
    names = {name for module in MODULES for name in getattr(module, "__all__", ()) or dir(module)}
    public = {name for name in names if name[0].isupper() or name in (*backstay.__all__, *testing.__all__)}
    foreign = {"Any", "Iterable", "Mapping", "Sequence"}

    assert public - foreign - set(sections()) == set()


def test_every_noun_and_its_methods_have_their_sections() -> None:
    from api.pages import nouns

    expected = {f"app.{noun}" for noun in nouns()}
    expected |= {
        f"app.{noun}.{name}"
        for noun, (kind, _) in nouns().items()
        for name, member in vars(kind).items()
        if name[0] != "_" and inspect.isfunction(member)
    }

    assert len(nouns()) > 15
    assert expected - set(sections()) == set()


def test_every_public_field_has_a_line_that_says_what_it_is() -> None:
    from api.pages import missing_words

    assert missing_words() == [], "write them below the field, or into tools/api/fields.txt"


def test_every_field_of_a_record_is_in_the_table_of_its_class() -> None:
    told = sections()
    missing = [
        f"{kind.__name__}.{field.name}"
        for kind in public_classes()
        if is_dataclass(kind)
        for field in fields(kind)
        if field.name[0] != "_" and f"| `{field.name}` |" not in told[kind.__name__]
    ]

    assert missing == []


def test_the_signatures_name_the_parameters_that_calls_take() -> None:
    from api.pages import all_members

    told, wrong = sections(), []
    for name, member in all_members().items():
        function = getattr(member, "__func__", member)
        if isinstance(member, property) or get_overloads(inspect.unwrap(function)) or name not in told:
            continue
        block = re.search(r"```python\n(?:@\w+\n)?(.*?)\n```", told[name], flags=re.DOTALL)
        taken = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
        missing = [one for one in taken if not re.search(rf"[(\s*]{one}[:,)]", block[1] if block else "")]
        wrong += [f"{name}: {missing}"] if missing else []

    assert wrong == []
    assert len(all_members()) > 300


def test_the_signatures_can_be_read_by_python() -> None:
    import ast

    broken = []
    for name, text in sections().items():
        for block in re.findall(r"```python\n((?:async )?def .*?)\n```", text, flags=re.DOTALL):
            try:
                ast.parse("\n".join(f"{one}: ..." for one in re.split(r"\n(?=(?:async )?def )", block)))
            except SyntaxError as error:
                broken.append(f"{name}: {error}")

    assert broken == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Job", "| `run_at` | `datetime` |"),
        ("JobHandle.result", "async def result(timeout: timedelta | float | None = None) -> R"),
        ("FlowHandle.of", "def of(node: FlowNode[R]) -> JobHandle[R]"),
        ("Context.step", "async def step(name: str, function: Callable[P, R], /, *args: P.args"),
        ("app.jobs.get", "async def get(job_id: UUID | str) -> Job"),
        ("app.dead_letters.retry", "async def retry("),
        ("Backstay.working", "async with working(**asked: WorkerFields) as Worker"),
        ("Retry", "after: timedelta | float | str | None = None"),
        ("Backoff", "base: "),
    ],
)
def test_what_people_look_for_is_there(name: str, text: str) -> None:
    assert text in re.sub(r",?\n\)", ")", re.sub(r"\n    ", " ", sections()[name])).replace("( ", "(")
