"""What a pack must be given, and what each of the five types holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.words import ObligationStatus, PackType, Role

HEADINGS: dict[PackType, tuple[str, ...]] = {
    PackType.REGULATOR_INSPECTION: (
        "Executive Summary",
        "Permit Summary",
        "Compliance Dashboard",
        "Obligation Matrix",
        "Gap Analysis",
        "Evidence Appendix",
    ),
    PackType.TENDER_CLIENT_ASSURANCE: (
        "Compliance Overview",
        "Evidence Samples",
        "Risk Assessment",
        "Action Plan",
    ),
    PackType.BOARD_MULTI_SITE_RISK: (
        "Executive Summary",
        "Risk Dashboard",
        "Site Compliance Matrix",
        "Trend Analysis",
        "Key Metrics",
        "Risk Prioritisation",
        "Action Items",
    ),
    PackType.INSURER_BROKER: (
        "Risk Narrative",
        "Compliance Controls Summary",
        "Evidence Overview",
        "Gap Analysis",
        "Compliance Certification",
    ),
    PackType.AUDIT_PACK: (
        "Summary",
        "Compliance Matrix",
        "Obligation Details",
        "Evidence Appendix",
    ),
}
COVERS = {
    PackType.AUDIT_PACK: "Audit Pack",
    PackType.REGULATOR_INSPECTION: "Regulator Inspection Pack",
    PackType.TENDER_CLIENT_ASSURANCE: "Client Assurance Pack",
    PackType.BOARD_MULTI_SITE_RISK: "Board Multi-Site Risk Pack",
    PackType.INSURER_BROKER: "Insurer and Broker Pack",
}
RECIPIENTS = ("REGULATOR", "CLIENT", "BOARD", "INSURER", "INTERNAL")


@dataclass(frozen=True)
class PackRequest:
    """What somebody asked a pack to be."""

    pack_type: PackType
    company_id: str | None
    site_id: str | None
    document_id: str | None
    start: date
    end: date
    statuses: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    overdue_only: bool = False
    with_files: bool = True
    output_format: str = "PDF"
    recipient_type: str | None = None


def has_appendix(pack_type: PackType) -> bool:
    """Say whether this type carries the files of evidence themselves."""
    return "Evidence Appendix" in HEADINGS[pack_type]


def check_request(request: PackRequest, *, roles: frozenset[Role]) -> None:
    """Refuse a request whose ids or roles do not go together."""
    if request.pack_type is PackType.BOARD_MULTI_SITE_RISK:
        if request.site_id:
            raise InvalidRequest(texts.BOARD_HAS_SITE)
        if not request.company_id:
            raise InvalidRequest(texts.BOARD_NEEDS_COMPANY)
        if not roles & {Role.OWNER, Role.ADMIN}:
            raise AccessDenied(texts.BOARD_NEEDS_ROLE)
    else:
        for value, template in (
            (request.site_id, texts.PACK_NEEDS_SITE),
            (request.company_id, texts.PACK_NEEDS_COMPANY),
            (request.document_id, texts.PACK_NEEDS_DOCUMENT),
        ):
            if not value:
                raise InvalidRequest(template.format(pack_type=request.pack_type))
    if request.end < request.start:
        raise InvalidRequest(f"the date range ends ({request.end}) before it starts ({request.start})")
    if request.output_format not in ("PDF", "ZIP"):
        raise InvalidRequest(f"output_format is PDF or ZIP, not {request.output_format!r}")
    if request.recipient_type not in (None, *RECIPIENTS):
        raise InvalidRequest(f"recipient_type is one of {', '.join(RECIPIENTS)}")


def is_wanted(request: PackRequest, *, status: str, category: str | None, dues: Sequence[date]) -> bool:
    """Say whether an obligation belongs into the pack: by range, status, category, lateness."""
    if request.statuses and status not in request.statuses:
        return False
    if request.categories and category not in request.categories:
        return False
    if request.overdue_only and status != ObligationStatus.OVERDUE:
        return False
    return not dues or any(request.start <= due <= request.end for due in dues)


def summary(obligations: Sequence[Mapping[str, Any]], *, integrity_errors: int) -> dict[str, int]:
    """Count the obligations of a pack, each once however many deadlines it has."""
    complete = sum(one["status"] == ObligationStatus.COMPLETED for one in obligations)
    overdue = sum(one["status"] == ObligationStatus.OVERDUE for one in obligations)
    evidence = {item["id"] for one in obligations for item in one["evidence"]}
    return {
        "total_obligations": len(obligations),
        "complete_count": complete,
        "pending_count": len(obligations) - complete - overdue,
        "overdue_count": overdue,
        "evidence_count": len(evidence),
        "integrity_errors_count": integrity_errors,
    }


def gap_order(obligation: Mapping[str, Any]) -> tuple[int, int, str]:
    """Put the worst first: overdue, then without evidence, then by reference."""
    overdue = obligation["status"] == ObligationStatus.OVERDUE
    return (0 if overdue else 1, 0 if not obligation["evidence"] else 1, str(obligation["reference"] or ""))


def is_gap(obligation: Mapping[str, Any]) -> bool:
    """An obligation that is late, or open without evidence."""
    if obligation["status"] in (ObligationStatus.COMPLETED, ObligationStatus.NOT_APPLICABLE):
        return False
    return obligation["status"] == ObligationStatus.OVERDUE or not obligation["evidence"]


def manifest(files: Mapping[str, bytes], *, pack_id: str) -> dict[str, Any]:
    """List every file with its SHA-256, and seal the list with a hash of its own."""
    entries = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    ]
    body = json.dumps({"pack_id": pack_id, "files": entries}, sort_keys=True, separators=(",", ":"))
    return {"pack_id": pack_id, "files": entries, "seal": hashlib.sha256(body.encode()).hexdigest()}


def differences(expected: Mapping[str, Any], files: Mapping[str, bytes]) -> list[str]:
    """Name what differs between a manifest and the files at hand; empty means unchanged."""
    found = []
    body = json.dumps(
        {"pack_id": expected["pack_id"], "files": expected["files"]}, sort_keys=True, separators=(",", ":")
    )
    if hashlib.sha256(body.encode()).hexdigest() != expected.get("seal"):
        found.append("the manifest itself was changed")
    listed = {entry["name"]: entry["sha256"] for entry in expected["files"]}
    for name, digest in listed.items():
        if name not in files:
            found.append(f"{name} is missing")
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            found.append(f"{name} differs")
    found += [f"{name} was added" for name in files if name not in listed]
    return found
