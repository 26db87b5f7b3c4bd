"""What a page shows of a passport: sections of fields, each with the reason for its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.fields import BY_PATH, ROOTS, SUBMODELS
from backstay_passport.domain.tiers import TIER_NAMES, Tier, tier_of, visible
from backstay_passport.export.page import rows, words


@dataclass(frozen=True)
class Source:
    """A fact that a value was computed from."""

    fact_type: str
    fact_key: str
    document: str


@dataclass(frozen=True)
class Why:
    """Why a value is as it is: the rule, its line, and the facts."""

    rule: str
    line: int
    text: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class FieldView:
    """A field as a page shows it."""

    path: str
    label: str
    values: tuple[tuple[str, str], ...]
    tier: str
    why: Why | None


@dataclass(frozen=True)
class Section:
    """The fields of a submodel."""

    name: str
    title: str
    fields: tuple[FieldView, ...]


def sections(
    payload: Mapping[str, Any],
    proof: Mapping[str, Any],
    tiers: frozenset[Tier],
    *,
    rules_source: str,
    documents: Mapping[str, str],
) -> list[Section]:
    """Return what an audience may see; keys of facts are shown to those with more than the public's right."""
    shown = visible(payload["submodels"], tiers)
    with_keys = len(tiers) > 1
    found: dict[str, list[FieldView]] = {}
    for entry in proof["leaves"]:
        value = _value(shown, entry["path"])
        if value is None:
            continue
        why = _why(entry, proof["sources"], rules_source, documents, with_keys=with_keys)
        found.setdefault(entry["path"].split(".")[0], []).append(_field(entry["path"], value, why))
    order = [*SUBMODELS, *(name for name in ROOTS if name not in SUBMODELS)]
    return [Section(name, words(name), tuple(found[name])) for name in order if name in found]


def _field(path: str, value: Any, why: Why) -> FieldView:
    entry = BY_PATH[path]
    values = tuple(rows(entry, value)) or (("", "none"),)
    return FieldView(path, words(path.split(".")[-1]), values, TIER_NAMES[tier_of(path)], why)


def _value(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _why(
    leaf: Mapping[str, Any],
    sources: Mapping[str, Any],
    rules_source: str,
    documents: Mapping[str, str],
    *,
    with_keys: bool,
) -> Why:
    lines = rules_source.splitlines()
    text = lines[leaf["line"] - 1].strip() if 0 < leaf["line"] <= len(lines) else ""
    found = []
    for mark in leaf["inputs"]:
        source = sources.get(mark)
        if source is not None:
            document = documents.get(source["document_version_id"] or "", "the battery's own record")
            found.append(Source(source["type"], source["key"] if with_keys else "", document))
    return Why(leaf["rule"], leaf["line"], text, tuple(dict.fromkeys(found)))


def footprint_bars(payload: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the carbon footprint by stage, for a chart."""
    model = payload["submodels"].get("CarbonFootprintForBatteries", {})
    stages = model.get("carbonFootprintPerLifecycleStage", [])
    return [(words(one["lifecycleStage"]), float(one["carbonFootprint"])) for one in stages]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the fields that differ between two versions, with both values."""
    before, after = _flat(old), _flat(new)
    paths = sorted(set(before) | set(after))
    return [
        (path, before.get(path, "–"), after.get(path, "–"))
        for path in paths
        if before.get(path) != after.get(path)
    ]


def _flat(submodels: Mapping[str, Any]) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, model in submodels.items():
        for label, text in rows(ROOTS[name], model):
            flat[f"{words(name)}: {label}"] = text
    return flat
