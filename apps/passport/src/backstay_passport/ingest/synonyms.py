"""What people call the fields of documents, in English and German, and what they call the values of two of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Written out, so that "Vendor no." and "Vendor number" are one label.
ABBREVIATIONS: Mapping[str, str] = {
    "no": "number",
    "nr": "number",
    "num": "number",
    "art": "article",
    "wt": "weight",
    "qty": "quantity",
    "max": "maximum",
    "min": "minimum",
    "nom": "nominal",
    "chem": "chemistry",
    "cap": "capacity",
    "desc": "description",
    "descr": "description",
    "eff": "efficiency",
    "mfr": "manufacturer",
}
_ABBREVIATED = re.compile(rf"\b({'|'.join(ABBREVIATIONS)})\b\.?", re.IGNORECASE)

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "sku": (
        "article number",
        "article",
        "item number",
        "item code",
        "product code",
        "product number",
        "product id",
        "part number",
        "material number",
        "model",
        "model number",
        "battery model",
        "type designation",
        "artikelnummer",
        "teilenummer",
        "sachnummer",
        "materialnummer",
        "modell",
    ),
    "name": (
        "description",
        "designation",
        "title",
        "contact name",
        "product name",
        "article name",
        "trade name",
        "bezeichnung",
        "benennung",
        "produktname",
    ),
    "mass_kg": ("weight", "net weight", "unit weight", "gewicht", "nettogewicht", "masse"),
    "quantity": ("pieces", "pcs", "number of pieces", "menge", "anzahl", "stück", "stückzahl"),
    "warranty_months": ("guarantee", "guarantee period", "warranty period", "garantie", "gewährleistung"),
    "kg_co2e": (
        "carbon footprint",
        "footprint",
        "emissions",
        "ghg emissions",
        "gwp",
        "gwp total",
        "kg co2e",
        "kg co2e per kwh",
        "co2e",
        "co2 fußabdruck",
        "treibhausgasemissionen",
    ),
    "stage": (
        "life cycle stage",
        "lifecycle stage",
        "life cycle phase",
        "phase",
        "lebenszyklusphase",
        "lebenswegabschnitt",
    ),
    "performance_class": ("class", "footprint class", "leistungsklasse"),
    "functional_unit": ("declared unit", "reference unit", "funktionelle einheit", "deklarierte einheit"),
    "study_url": ("study link", "study address", "report of the study", "lca study", "studie"),
    "supplier_id": ("supplier number", "supplier code", "vendor", "vendor number", "lieferantennummer"),
    "risk": ("risk level", "risk class", "risk rating", "risk assessment", "risikostufe", "risiko"),
    "policy_url": ("policy link", "sourcing policy", "code of conduct", "policy address", "richtlinie"),
    "report_url": ("report link", "audit report", "due diligence report", "bericht"),
    "assurance_url": ("third party assurance", "assurance link", "audit certificate"),
    "material": ("raw material", "substance", "material supplied", "material name", "rohstoff", "werkstoff"),
    "materials": ("material",),
    "substances": ("hazardous substance", "substance"),
    "cas": ("cas number", "cas registry number", "cas nummer"),
    "critical": ("critical raw material", "crm", "kritisch", "kritischer rohstoff"),
    "component": ("location", "where used", "used in", "verwendungsort", "bauteil"),
    "country": ("address country",),
    "street": ("street address",),
    "chemistry": ("cell chemistry", "battery chemistry", "zellchemie", "chemie"),
    "chemistry_name": ("chemistry in full", "chemistry clear name"),
    "category": ("battery category", "batteriekategorie"),
    "rated_capacity_ah": ("capacity", "nominal capacity", "nennkapazität"),
    "rated_energy_kwh": ("energy content", "nominal energy", "energy", "energieinhalt", "nennenergie"),
    "nominal_voltage_v": ("rated voltage", "nennspannung"),
    "minimum_voltage_v": ("voltage minimum", "cut off voltage", "entladeschlussspannung"),
    "maximum_voltage_v": ("voltage maximum", "charge voltage", "ladeschlussspannung"),
    "maximum_power_w": ("rated power", "peak power", "power maximum", "maximale leistung"),
    "expected_cycles": ("cycle life", "number of cycles", "lifetime in cycles", "zyklenzahl"),
    "efficiency_pct": ("round trip efficiency", "wirkungsgrad"),
    "conformity_url": ("declaration of conformity", "eu declaration of conformity", "konformitätserklärung"),
    "test_report_url": ("test report", "prüfbericht"),
}

# The stages of the regulation, as footprint studies call them; the words of a stage that all of its names share.
_STAGES: tuple[tuple[str, str], ...] = (
    (r"raw material|pre-?processing|rohstoff", "RawMaterialExtraction"),
    (r"distribut|transport|verteilung|vertrieb", "Distribution"),
    (r"end.of.life|recycling|entsorgung|lebensende", "Recycling"),
    (r"main product|production|manufactur|produktion|herstellung", "MainProduction"),
)
_RISKS: tuple[tuple[str, str], ...] = (
    (r"low|gering|niedrig", "low"),
    (r"medium|moderate|mittel", "medium"),
    (r"high|hoch", "high"),
)
_VALUES: Mapping[str, tuple[tuple[str, str], ...]] = {"stage": _STAGES, "risk": _RISKS}


def written_out(text: str) -> str:
    """Return a label with its usual abbreviations written out."""
    return _ABBREVIATED.sub(lambda found: ABBREVIATIONS[found[1].lower()], text)


def named_value(field: str, text: str) -> str | None:
    """Return how we call a value of a field; None if it is known by no name or by several."""
    lowered = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    found = {name for pattern, name in _VALUES.get(field, ()) if re.search(rf"\b(?:{pattern})", lowered)}
    return found.pop() if len(found) == 1 else None


def known_value(field: str, text: str) -> str:
    """Return how we call a value of a field; one that is not known stays as it is."""
    return named_value(field, text) or text
