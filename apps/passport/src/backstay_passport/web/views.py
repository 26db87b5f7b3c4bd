"""What a page shows of a passport: sections of fields, each with the reason for its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.fields import BY_PATH, ROOTS, SUBMODELS
from backstay_passport.domain.tiers import TIER_NAMES, Tier, tier_of, visible
from backstay_passport.export.page import rows, words
from backstay_passport.web.lookup import Shown


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


@dataclass(frozen=True)
class Change:
    """A value that differs between two versions, and why: another rule, or other documents."""

    label: str
    before: str
    now: str
    why: str


def difference(old: Shown, new: Shown) -> list[Change]:
    """Return the values that differ between two versions, each with the rule or document behind the change."""
    leaves = [{leaf["path"]: leaf for leaf in one.proof["leaves"]} for one in (old, new)]
    changes = []
    for path in sorted({*leaves[0], *leaves[1]}):
        before, now = (_labelled(path, _value(one.payload["submodels"], path)) for one in (old, new))
        if before == now:
            continue
        cause = _cause(
            *(_why_of(one, found.get(path)) for one, found in zip((old, new), leaves, strict=True))
        )
        changes += [
            Change(label, before.get(label, "–"), now.get(label, "–"), cause)
            for label in dict.fromkeys([*before, *now])
            if before.get(label) != now.get(label)
        ]
    return changes


def _labelled(path: str, value: Any) -> dict[str, str]:
    root, *below = path.split(".")
    name = f"{words(root)}: {', '.join(words(part) for part in below)}"
    if value is None:
        return {}
    return {f"{name}, {label}" if label else name: text for label, text in rows(BY_PATH[path], value)}


def _why_of(version: Shown, leaf: Mapping[str, Any] | None) -> Why | None:
    if leaf is None:
        return None
    return _why(leaf, version.proof["sources"], version.rules_source, version.documents, with_keys=True)


def _cause(before: Why | None, now: Why | None) -> str:
    """Say what is behind a change: the rule, if it is another one now, else the facts that it reads."""
    if before is not None and now is not None and (before.rule, before.text) != (now.rule, now.text):
        return f"rule {now.rule}, line {now.line}, is another one"
    known = now or before
    if known is None:
        return ""
    facts = "; ".join(f"{one.fact_type} {one.fact_key} from {one.document}" for one in known.sources)
    return f"rule {known.rule}: {facts}" if facts else f"rule {known.rule}"
