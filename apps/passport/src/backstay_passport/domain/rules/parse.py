"""From the text of a rule package to its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from backstay_passport.domain.errors import RuleSyntaxError
from backstay_passport.domain.rules.expressions import read_expression, read_path
from backstay_passport.domain.rules.reader import Reader
from backstay_passport.domain.rules.syntax import Let, Package, Require, Rule, SetField
from backstay_passport.domain.types import Bool, Date, Int, ListOf, Number, Optional, Record, Text, Type
from backstay_passport.domain.units import EACH, UNITS

_SIMPLE: dict[str, Type] = {"Text": Text(), "Int": Int(), "Bool": Bool(), "Date": Date()}


def parse_rules(source: str) -> Package:
    """Read a rule package; raise `RuleSyntaxError` with line and column."""
    reader = Reader(source, RuleSyntaxError)
    reader.take("package", "'package' and a name in quotes")
    name = reader.text("the package's name in quotes")
    version = reader.text("a version in quotes") if reader.skip("version") else "1"
    found = _Found()
    while not reader.at("end"):
        _declaration(reader, found)
    return Package(
        name=name,
        version=version,
        facts=found.facts,
        product=found.product or Record({"sku": Text()}, "product"),
        unit=found.unit,
        lets=tuple(found.lets),
        rules=tuple(found.rules),
    )


@dataclass
class _Found:
    """What has been read so far."""

    records: dict[str, Record] = field(default_factory=dict)
    facts: dict[str, Record] = field(default_factory=dict)
    product: Record | None = None
    unit: Record | None = None
    lets: list[Let] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)


def _declaration(reader: Reader, found: _Found) -> None:
    token = reader.next
    match token.kind:
        case "record":
            reader.take_any()
            name = _new_name(reader, "record", found.records)
            found.records[name] = _record(reader, found, name)
        case "fact":
            reader.take_any()
            name = _new_name(reader, "fact", found.facts)
            found.facts[name] = _record(reader, found, name)
        case "product" | "unit":
            reader.take_any()
            if getattr(found, token.kind) is not None:
                reader.fail(f"{token.kind} is declared twice", token.place)
            setattr(found, token.kind, _record(reader, found, token.kind))
        case "let":
            reader.take_any()
            name = reader.take("name", "a name").text
            reader.take("=")
            found.lets.append(Let(name, read_expression(reader), token.place))
        case "rule":
            found.rules.append(_rule(reader, found))
        case _:
            reader.fail(f"expected record, fact, product, unit, let or rule, found {token.text!r}")


def _new_name(reader: Reader, noun: str, taken: dict[str, Record]) -> str:
    token = reader.take("name", f"the name of the {noun}")
    if token.text in taken or token.text in _SIMPLE or token.text in ("Decimal", "List"):
        reader.fail(f"there is a {noun} {token.text} already", token.place)
    return token.text


def _record(reader: Reader, found: _Found, name: str) -> Record:
    reader.take("{")
    fields = reader.items("}", lambda: _field(reader, found))
    return Record(dict(fields), name)


def _field(reader: Reader, found: _Found) -> tuple[str, Type]:
    name = reader.word("the name of a field")
    reader.take(":")
    return name, reader.deeper(lambda: _type(reader, found))


def _type(reader: Reader, found: _Found) -> Type:
    token = reader.take("name", "a type")
    base: Type
    if token.text in _SIMPLE:
        base = _SIMPLE[token.text]
    elif token.text == "Decimal":
        has_unit = reader.at("name") and reader.next.text in UNITS
        base = Number(UNITS[reader.take_any().text] if has_unit else EACH)
    elif token.text == "List":
        reader.take("<")
        base = ListOf(reader.deeper(lambda: _type(reader, found)))
        reader.take(">")
    elif token.text in found.records:
        base = found.records[token.text]
    else:
        reader.fail(
            f"no type {token.text}; there are Text, Int, Decimal with a unit, Bool, Date, List<…> and the "
            "records declared above",
            token.place,
        )
    return Optional(base) if reader.skip("?") else base


def _rule(reader: Reader, found: _Found) -> Rule:
    place = reader.take("rule").place
    name = reader.word("the rule's name")
    if any(rule.name == name for rule in found.rules):
        reader.fail(f"there is a rule {name} already", place)
    reader.take(":")
    condition = None
    if reader.skip("when"):
        condition = read_expression(reader)
        reader.take("then")
    return Rule(name, condition, _action(reader), place)


def _action(reader: Reader) -> SetField | Require:
    place = reader.next.place
    if reader.skip("set"):
        path = read_path(reader)
        reader.take("=")
        return SetField(path, read_expression(reader), place)
    reader.take("require", "'set' or 'require'")
    condition = read_expression(reader)
    reader.take("else")
    return Require(condition, reader.text("the message in quotes"), place)
