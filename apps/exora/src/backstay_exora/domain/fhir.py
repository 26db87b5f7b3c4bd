"""A patient's record as a FHIR bundle (R4B): every resource with a Provenance that names its document."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

_REACTIVE = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical"
_CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"


def bundle(
    patient: Mapping[str, Any],
    documents: Iterable[Mapping[str, Any]],
    facts: Iterable[Mapping[str, Any]],
    *,
    now: datetime,
) -> dict[str, Any]:
    """The bundle of one patient; the same record gives the same ids."""
    stamp = now.isoformat()
    subject = {"reference": f"urn:uuid:{patient['id']}"}
    entries = [_entry(str(patient["id"]), _patient(patient))]
    for document in documents:
        entries.append(_entry(str(document["id"]), _document(document, subject)))
    for fact in facts:
        entries.append(_entry(str(fact["id"]), _resource(fact, subject)))
        proof = uuid5(NAMESPACE_URL, f"provenance:{fact['id']}")
        entries.append(_entry(str(proof), _provenance(fact, stamp)))
    return {"resourceType": "Bundle", "type": "collection", "timestamp": stamp, "entry": entries}


def _entry(identifier: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {"fullUrl": f"urn:uuid:{identifier}", "resource": resource}


def _patient(patient: Mapping[str, Any]) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resourceType": "Patient",
        "id": str(patient["id"]),
        "name": [{"family": patient["family_name"], "given": str(patient["given_names"]).split()}],
        "birthDate": patient["date_of_birth"].isoformat(),
    }
    if patient.get("gender"):
        resource["gender"] = patient["gender"]
    if patient.get("record_number"):
        resource["identifier"] = [{"value": patient["record_number"]}]
    return resource


def _document(document: Mapping[str, Any], subject: dict[str, Any]) -> dict[str, Any]:
    return {
        "resourceType": "DocumentReference",
        "id": str(document["id"]),
        "status": "current",
        "subject": subject,
        "date": document["uploaded_at"].isoformat(),
        "content": [{"attachment": {"contentType": document["mime"], "title": document["filename"]}}],
    }


def _resource(fact: Mapping[str, Any], subject: dict[str, Any]) -> dict[str, Any]:
    text = {"text": fact["name"]}
    base = {"id": str(fact["id"])}
    match fact["kind"]:
        case "medication":
            said = " ".join(part for part in (fact["dose"], fact["route"], fact["frequency"]) if part)
            resource = {
                "resourceType": "MedicationStatement",
                **base,
                "status": "active",
                "medicationCodeableConcept": text,
                "subject": subject,
            }
            return {**resource, "dosage": [{"text": said}]} if said else resource
        case "condition":
            return {
                "resourceType": "Condition",
                **base,
                "clinicalStatus": _active(_CLINICAL),
                "code": text,
                "subject": subject,
            }
        case _:
            allergy: dict[str, Any] = {
                "resourceType": "AllergyIntolerance",
                **base,
                "clinicalStatus": _active(_REACTIVE),
                "code": text,
                "patient": subject,
            }
            if fact["reaction"]:
                allergy["reaction"] = [{"manifestation": [{"text": fact["reaction"]}]}]
            return allergy


def _active(system: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": "active"}]}


def _provenance(fact: Mapping[str, Any], stamp: str) -> dict[str, Any]:
    return {
        "resourceType": "Provenance",
        "target": [{"reference": f"urn:uuid:{fact['id']}"}],
        "recorded": stamp,
        "agent": [{"who": {"display": "Exora"}}],
        "entity": [{"role": "source", "what": {"reference": f"urn:uuid:{fact['shell_file_id']}"}}],
    }
