"""Schemas of what is exported, written from the table of fields: JSON Schema, XSD, JSON-LD context."""

from __future__ import annotations

from typing import Any

from backstay_passport.domain.fields import BY_PATH, FORMS, ROOTS, Field

NAMESPACE = "https://w3id.org/backstay/battery-passport#"
XML_NAMESPACE = "urn:backstay:battery-passport:1"


def json_schema(submodel: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 4) of a submodel."""
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": submodel,
        **_schema(ROOTS[submodel]),
    }


def _schema(entry: Field) -> dict[str, Any]:
    item = _item_schema(entry)
    return {"type": "array", "items": item} if entry.is_list else item


def _item_schema(entry: Field) -> dict[str, Any]:
    if entry.kind == "object":
        if not entry.children:
            return {"type": "object"}
        required = [name for name, child in entry.children.items() if child.required]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: _schema(child) for name, child in entry.children.items()},
            "additionalProperties": False,
        }
        return {**schema, "required": required} if required else schema
    if entry.choices:
        return {"type": "string", "enum": list(entry.choices)}
    if entry.form:
        return {"type": "string", "pattern": f"^{FORMS[entry.form]}$"}
    return {"type": entry.kind}


def context() -> dict[str, Any]:
    """Return the JSON-LD context: every field a term, numbers as decimals, addresses as references."""
    terms: dict[str, Any] = {"@version": 1.1, "@vocab": NAMESPACE, "xsd": "http://www.w3.org/2001/XMLSchema#"}
    for entry in BY_PATH.values():
        if entry.kind == "number":
            terms[entry.name] = {"@type": "xsd:decimal"}
        elif entry.form == "uri":
            terms[entry.name] = {"@type": "@id"}
    terms["labelingMeaning"] = {"@container": "@language"}
    return terms


def xsd() -> str:
    """Return the XML schema of an exported passport."""
    body = "".join(_xsd_element(root, indent=8) for root in ROOTS.values())
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{XML_NAMESPACE}" elementFormDefault="qualified">
  <xs:element name="BatteryPassport">
    <xs:complexType>
      <xs:sequence>
{body}      </xs:sequence>
      <xs:attribute name="passport" type="xs:string" use="required"/>
      <xs:attribute name="version" type="xs:string" use="required"/>
      <xs:attribute name="issuedAt" type="xs:string" use="required"/>
    </xs:complexType>
  </xs:element>
</xs:schema>
"""


def _xsd_element(entry: Field, indent: int) -> str:
    pad = " " * indent
    # Fields of other tiers may be left out of an export, so nothing is required here.
    occurs = ' minOccurs="0" maxOccurs="unbounded"' if entry.is_list else ' minOccurs="0"'
    if entry.kind == "object" and entry.children:
        inner = "".join(_xsd_element(child, indent + 6) for child in entry.children.values())
        return (
            f'{pad}<xs:element name="{entry.name}"{occurs}>\n{pad}  <xs:complexType>\n{pad}    <xs:sequence>\n'
            f"{inner}{pad}    </xs:sequence>\n{pad}  </xs:complexType>\n{pad}</xs:element>\n"
        )
    if entry.kind == "object":
        return (
            f'{pad}<xs:element name="{entry.name}"{occurs}>\n{pad}  <xs:complexType>\n{pad}    <xs:sequence>\n'
            f'{pad}      <xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/>\n'
            f"{pad}    </xs:sequence>\n{pad}  </xs:complexType>\n{pad}</xs:element>\n"
        )
    kind = {"number": "xs:decimal", "boolean": "xs:boolean"}.get(entry.kind, "xs:string")
    return f'{pad}<xs:element name="{entry.name}" type="{kind}"{occurs}/>\n'
