"""What a passport may say: every field with its type, its form, and whether it must be there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backstay_passport.domain.field_table import TABLE
from backstay_passport.domain.types import Bool, ListOf, Number, Optional, Record, Text, Type
from backstay_passport.domain.units import UNITS

SUPPLEMENT = "Supplement"
SUBMODELS = (
    "GeneralProductInformation",
    "CarbonFootprintForBatteries",
    "Circularity",
    "MaterialComposition",
    "PerformanceAndDurability",
    "Labeling",
    "SupplyChainDueDiligence",
)

FORMS: Mapping[str, str] = {
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"]+",
    "email": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "date-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "duration": r"P\d+[YM](\d+M)?",
    "cas": r"\d{2,7}-\d\d-\d",
    "identifier": r"(urn:uuid:[0-9a-f-]{36}|https?://\S+)",
}


@dataclass(frozen=True)
class Field:
    """One field: where it stands, and what may stand there."""

    path: str
    name: str
    kind: str
    is_list: bool
    required: bool
    unit: str = ""
    form: str = ""
    choices: tuple[str, ...] = ()
    children: dict[str, Field] = field(default_factory=dict, compare=False, hash=False)

    def item_type(self) -> Type:
        """Return the type of one value, without the list around it."""
        match self.kind:
            case "number":
                return Number(UNITS[self.unit])
            case "boolean":
                return Bool()
            case "object":
                return Record({name: child.type() for name, child in self.children.items()}, self.name)
            case _:
                return Text()

    def type(self) -> Type:
        """Return the type as a rule has to give it."""
        whole: Type = ListOf(self.item_type()) if self.is_list else self.item_type()
        return whole if self.required else Optional(whole)

    def descendants(self) -> Iterator[Field]:
        """Give this field and everything below it."""
        yield self
        for child in self.children.values():
            yield from child.descendants()


def _read_table(table: str) -> dict[str, Field]:
    roots: dict[str, Field] = {}
    trail: list[Field] = []
    for line in table.strip().splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        parent = trail[depth - 1] if depth else None
        entry = _read_line(line.split(), parent)
        (parent.children if parent else roots)[entry.name] = entry
        trail[depth:] = [entry]
    return roots


def _read_line(words: list[str], parent: Field | None) -> Field:
    written, kind = words[0], words[1] if len(words) > 1 else "object"
    extra = words[2] if len(words) > 2 else ""
    name = written.replace("[]", "").replace("?", "")
    return Field(
        path=f"{parent.path}.{name}" if parent else name,
        name=name,
        kind=kind,
        is_list="[]" in written,
        required="?" not in written,
        unit=extra if kind == "number" else "",
        form=extra if kind == "string" and not extra.startswith("one:") else "",
        choices=tuple(extra.removeprefix("one:").split(",")) if extra.startswith("one:") else (),
    )


ROOTS: Mapping[str, Field] = _read_table(TABLE)
BY_PATH: Mapping[str, Field] = {entry.path: entry for root in ROOTS.values() for entry in root.descendants()}
LEAVES: tuple[Field, ...] = tuple(entry for entry in BY_PATH.values() if entry.kind != "object")


def problems(entry: Field, value: Any, pointer: str = "") -> Iterator[str]:
    """Say what is wrong with a value that is to stand in a field: missing, unknown, or of another form."""
    if entry.is_list:
        if not isinstance(value, list):
            yield f"{entry.path}{pointer}: not a list"
            return
        for number, item in enumerate(value):
            yield from _item_problems(entry, item, f"{pointer}[{number}]")
    else:
        yield from _item_problems(entry, value, pointer)


def _item_problems(entry: Field, value: Any, pointer: str) -> Iterator[str]:
    where = f"{entry.path}{pointer}"
    if entry.kind == "object":
        if not isinstance(value, dict):
            yield f"{where}: not an object"
            return
        yield from _object_problems(entry, value, pointer)
    elif entry.choices and value not in entry.choices:
        yield f"{where}: {value!r} is none of {', '.join(entry.choices)}"
    elif entry.form and not (isinstance(value, str) and re.fullmatch(FORMS[entry.form], value)):
        yield f"{where}: {value!r} does not have the form of {entry.form}"
    elif entry.kind == "boolean" and not isinstance(value, bool):
        yield f"{where}: {value!r} is neither true nor false"


def _object_problems(entry: Field, value: dict[str, Any], pointer: str) -> Iterator[str]:
    # An object without named fields, such as a text in several languages, holds what it likes.
    if not entry.children:
        return
    for name in value:
        if name not in entry.children:
            yield f"{entry.path}.{name}: no such field"
    for name, child in entry.children.items():
        if name in value:
            yield from problems(child, value[name], pointer)
        elif child.required:
            yield f"{child.path}{pointer}: missing"
