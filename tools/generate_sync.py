"""Writes the blocking twin of the client, `windlass/client/sync.py`.

`--check` only tells whether it is current.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "src/windlass/client"
TARGET = CLIENT / "sync.py"
NOUNS = (
    ("jobs", "Jobs"),
    ("dead_letters", "DeadLetters"),
    ("queues", "Queues"),
    ("workers", "Workers"),
    ("doctor", "Doctor"),
    ("overrides", "Overrides"),
)
NOT_FOR_PEOPLE = {"enqueue", "enqueue_alone", "enqueue_many_alone", "to_join", "spec_of"}
# A caller's transaction is joined in the caller's thread, so these are written by hand.
IN_THE_CALLERS_THREAD = {"enqueue_by_name", "enqueue_many"}

HEAD = '''"""The blocking twin of the client, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

{imports}


class App(Protocol):
    """Where the asynchronous nouns of the running loop are found."""

{properties}
'''


def main() -> int:
    """Write the file, or compare it."""
    text = formatted(generate())
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            print(f"{TARGET.relative_to(ROOT)} is out of date: run 'make fix'")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


def generate() -> str:
    """The source of the twin."""
    classes, imports = (
        [],
        {
            "from typing import Any, Protocol",
            "from windlass.client.joining import SyncEnqueuing",
            "from windlass.client.sync_loop import SyncLoop",
        },
    )
    for module, name in NOUNS:
        tree = ast.parse((CLIENT / f"{module}.py").read_text())
        imports |= used_imports(tree)
        imports.add(f"from windlass.client.{module} import {name}")
        found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        classes.append(twin(module, found))
    imports.add("from windlass.client.jobs import Page")
    properties = "\n\n".join(
        f"    @property\n    def {module}(self) -> {name}: ..." for module, name in NOUNS
    )
    head = HEAD.format(imports="\n".join(sorted(imports)), properties=properties)
    return head + "\n\n" + "\n\n\n".join(classes) + "\n\n\n" + whole()


def used_imports(tree: ast.Module) -> set[str]:
    """The imports of a module, which the formatter thins out to those needed."""
    kept = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    return {ast.unparse(node) for node in kept}


def twin(module: str, cls: ast.ClassDef) -> str:
    """The blocking class of one noun."""
    methods = [
        node for node in cls.body if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    body = "\n\n".join(method(module, node) for node in methods if node.name not in NOT_FOR_PEOPLE)
    doc = ast.get_docstring(cls)
    assert doc is not None
    return (
        f'class Sync{cls.name}:\n    """{doc.replace("from one event loop", "by blocking calls")}"""\n\n'
        f"    def __init__(self, app: App, loop: SyncLoop) -> None:\n"
        f"        self._app, self._loop = app, loop\n\n{body}"
    )


def method(module: str, node: ast.AsyncFunctionDef) -> str:
    """One blocking method."""
    arguments = node.args
    passed = [argument.arg for argument in arguments.args if argument.arg != "self"]
    passed += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    returns = ast.unparse(node.returns) if node.returns else "None"
    keyword = "" if returns == "None" else "return "
    doc = ast.get_docstring(node, clean=True) or ""
    indented = doc.replace("\n", "\n        ")
    if node.name in IN_THE_CALLERS_THREAD:
        call = f"SyncEnqueuing(self._app, self._loop).{node.name}({', '.join(passed)})"
    else:
        call = f"self._loop.run(lambda: self._app.{module}.{node.name}({', '.join(passed)}), "
        call += f'name="sync.{module}.{node.name}")'
    return (
        f"    def {node.name}({ast.unparse(arguments)}) -> {returns}:\n"
        f'        """{indented}{chr(10) + "        " if chr(10) in doc else ""}"""\n'
        f"        {keyword}{call}"
    )


def whole() -> str:
    """The class that holds all nouns."""
    made = "\n".join(f"        self.{module} = Sync{name}(app, loop)" for module, name in NOUNS)
    return (
        'class SyncClient:\n    """Every noun, by blocking calls; raises SyncOnLoop where an event loop runs."""\n\n'
        f"    def __init__(self, app: App, loop: SyncLoop) -> None:\n{made}\n"
    )


def formatted(text: str) -> str:
    """The text as the house formats it, without the imports it does not need."""
    for arguments in (["check", "--select", "F401,I", "--fix", "-q"], ["format", "-q"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(TARGET), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        text = done.stdout or text
    return text


if __name__ == "__main__":
    sys.exit(main())
