"""Which facts hold now: of each thing that documents speak of, all that the newest document says and nothing older."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from backstay_passport.domain.facts.fact import Fact

_OF_A_BATTERY = ("Material", "Component")
_NAMED_BY = {"Battery": "sku", "CarbonFootprint": "sku", "DueDiligence": "supplier_id"}


def current_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that hold, of facts in the order in which their documents came.

    A later document about a battery or supplier replaces what an earlier one of the same kind says of it as a whole:
    a stage or material that the new revision leaves out is gone, and nothing is added up twice.
    """
    skus = _skus_by_source(facts)
    newest: dict[Hashable, str] = {}
    for fact in facts:
        newest[_thing(fact, skus)] = fact.source
    return [fact for fact in facts if newest[_thing(fact, skus)] == fact.source]


def _skus_by_source(facts: Iterable[Fact]) -> Mapping[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for fact in facts:
        if fact.fact_type == "Battery":
            found[fact.source].append(fact.payload["sku"])
    return found


def _thing(fact: Fact, skus: Mapping[str, list[str]]) -> Hashable:
    """Return what a fact speaks of; materials and parts speak of the battery that their key begins with."""
    if fact.fact_type in _OF_A_BATTERY:
        prefixes = [sku for sku in skus.get(fact.source, ()) if fact.fact_key.startswith(_prefix(fact, sku))]
        return ("Battery", max(prefixes, key=len, default=fact.fact_key))
    member = _NAMED_BY.get(fact.fact_type)
    return (fact.fact_type, fact.fact_key if member is None else fact.payload[member])


def _prefix(fact: Fact, sku: str) -> str:
    return f"{fact.fact_type.lower()}:{sku}:"
