"""Writes the blocking twin of the client, a file a noun in `backstay/client/sync`.

`--check` only tells whether it is current.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "src/backstay/client"
TARGET = CLIENT / "sync"
NOUNS = (
    ("jobs", "Jobs"),
    ("dead_letters", "DeadLetters"),
    ("queues", "Queues"),
    ("workers", "Workers"),
    ("doctor", "Doctor"),
    ("overrides", "Overrides"),
    ("flows", "Flows"),
    ("limits", "Limits"),
    ("signals", "Signals"),
    ("quotas", "Quotas"),
    ("schedules", "Schedules"),
    ("locks", "Locks"),
    ("audit", "Audit"),
    ("api_keys", "ApiKeys"),
    ("health", "Health"),
    ("webhooks", "Webhooks"),
    ("alerts", "Alerts"),
    ("audit_chain", "AuditChain"),
    ("metrics", "Metrics"),
    ("operations", "Operations"),
    ("failures", "Failures"),
    ("tenants", "Tenants"),
    ("archive", "Archive"),
)
# Streams have no blocking twin, but those who act for somebody need them of an application.
ASYNC_ONLY = (("live", "Live"),)
# A caller's transaction is joined in the caller's thread, so these are written by hand.
IN_THE_CALLERS_THREAD = {"enqueue_by_name", "enqueue_many"}

NOUN = '''"""The blocking twin of the {noun}, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

{imports}


{body}
'''

WHOLE = '''"""The blocking twin of the client, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
{imports}
from backstay.client.sync_loop import SyncLoop


class SyncClient:
    """Every noun, by blocking calls; raises SyncOnLoop where an event loop runs."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
{made}
'''

APP = '''"""What the blocking twin needs of an application.

Written by tools/generate_sync.py; do not edit.
"""

from __future__ import annotations

from typing import Protocol

{imports}


class App(Protocol):
    """Where the asynchronous nouns of the running loop are found."""

    url: str

{properties}
'''


def main() -> int:
    """Write the files, or compare them."""
    files = {TARGET / f"{name}.py": formatted(text) for name, text in generate().items()}
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run 'make fix'")
        return 1 if stale else 0
    TARGET.mkdir(exist_ok=True)
    for path in stale:
        path.write_text(files[path])
    return 0


def generate() -> dict[str, str]:
    """The source of each file of the twin."""
    nouns = {module: noun(module, name) for module, name in NOUNS}
    homes = "from backstay.client.enqueue.enqueuer import Enqueuer\n" + "\n".join(
        f"from backstay.client.{home(module)} import {name}" for module, name in (*NOUNS, *ASYNC_ONLY)
    )
    properties = "\n\n".join(
        f"    @property\n    def {module}(self) -> {name}: ..."
        for module, name in [*NOUNS, *ASYNC_ONLY, ("_enqueuer", "Enqueuer")]
    )
    twins = "\n".join(f"from backstay.client.sync.{module} import Sync{name}" for module, name in NOUNS)
    made = "\n".join(f"        self.{module} = Sync{name}(app, loop)" for module, name in NOUNS)
    return {
        "__init__": WHOLE.format(imports=twins, made=made),
        "app": APP.format(imports=homes, properties=properties),
        **nouns,
    }


def home(module: str) -> str:
    """Where the asynchronous noun lives: a module, or the module of that name in a package."""
    return f"{module}.{module}" if (CLIENT / module).is_dir() else module


def noun(module: str, name: str) -> str:
    """The file of one noun."""
    tree = ast.parse((CLIENT / f"{home(module).replace('.', '/')}.py").read_text())
    imports = used_imports(tree) | {
        "from typing import Any",
        "from backstay.client.enqueue.caller_transaction import SyncEnqueuing",
        "from backstay.client.sync.app import App",
        "from backstay.client.sync_loop import SyncLoop",
    }
    local = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name != name]
    imports |= {f"from backstay.client.{home(module)} import {other}" for other in local if other != "App"}
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    spoken = module.replace("_", " ")
    return NOUN.format(noun=spoken, imports="\n".join(sorted(imports)), body=twin(module, found))


def used_imports(tree: ast.Module) -> set[str]:
    """The imports of a module, which the formatter thins out to those needed."""
    kept = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    return {ast.unparse(node) for node in kept}


def twin(module: str, cls: ast.ClassDef) -> str:
    """The blocking class of one noun."""
    methods = [
        node for node in cls.body if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    body = "\n\n".join(method(module, node) for node in methods)
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
    passed += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
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


def formatted(text: str) -> str:
    """The text as the house formats it, without the imports it does not need."""
    for arguments in (["check", "--select", "F401,I", "--fix", "-q"], ["format", "-q"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(TARGET / "noun.py"), "-"],
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
