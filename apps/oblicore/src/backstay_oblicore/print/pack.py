"""A pack on paper: the sections of its type, the integrity warning, the evidence, the manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backstay_oblicore.domain import packs, texts
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.print.pages import (
    PageBreak,
    Spacer,
    bind,
    facts,
    heading,
    lay_out,
    page_count,
    paragraph,
    table,
)

Content = Mapping[str, Any]
MOST_DEADLINES = 12


def pack_pdf(
    pack_type: PackType, content: Content, evidence: Mapping[str, bytes], *, pack_id: str, generated: str
) -> tuple[bytes, dict[str, Any]]:
    """Print a pack; return the file and the manifest that is attached to it.

    `evidence` holds the files that belong into the appendix, by the names they are attached under.
    """
    attached = {**evidence, "content.json": json.dumps(content, sort_keys=True, ensure_ascii=False).encode()}
    sealed = packs.manifest(attached, pack_id=pack_id)
    parts = [lay_out(packs.COVERS[pack_type], _story(pack_type, content, evidence))]
    parts += [file for file in evidence.values() if page_count(file)]
    files = {**attached, "manifest.json": json.dumps(sealed, indent=1).encode()}
    foot = texts.PACK_FOOTER.format(date=generated)
    return bind(parts, foot=foot, attachments=files, subject=f"Pack {pack_id}"), sealed


def _story(pack_type: PackType, content: Content, evidence: Mapping[str, bytes]) -> list[Any]:
    story = list(_cover(pack_type, content))
    if content["integrity_report"]["error_count"]:
        story += [PageBreak(), *_warning(content)]
    story.append(PageBreak())
    for name in packs.HEADINGS[pack_type]:
        story.append(heading(name))
        story += _appendix(content, evidence) if name == "Evidence Appendix" else _SECTIONS[name](content)
    return story


def _cover(pack_type: PackType, content: Content) -> Iterator[Any]:
    meta = content["metadata"]
    yield heading(packs.COVERS[pack_type])
    pairs = [
        ("Company", meta["company_name"]),
        ("Site", meta["site_name"]),
        ("Document", meta["document_title"]),
        ("Permit number", meta["permit_number"]),
        ("Period", f"{meta['date_range']['start']} to {meta['date_range']['end']}"),
        ("Prepared for", meta.get("recipient") or "-"),
        ("Purpose", meta.get("purpose") or "-"),
        ("Generated", f"{meta['generated_at']} by {meta['generated_by']}"),
    ]
    yield facts([(label, value or "-") for label, value in pairs])


def _warning(content: Content) -> Iterator[Any]:
    report = content["integrity_report"]
    yield heading("Integrity Warning")
    yield paragraph(
        f"{report['error_count']} of {report['total_checked']} files of evidence are not as they were filed:"
    )
    rows = [(one["file_name"], one["error_type"], one["evidence_id"]) for one in report["errors"]]
    yield table(("File", "Fault", "Evidence"), rows, shares=(3, 2, 3))


def _summary(content: Content) -> Iterator[Any]:
    one = content["summary"]
    share = 100.0 * (one["total_obligations"] - one["overdue_count"]) / max(one["total_obligations"], 1)
    yield paragraph(
        f"{one['total_obligations']} obligations: {one['complete_count']} complete, {one['pending_count']} pending, "
        f"{one['overdue_count']} overdue. {share:.1f} % are not overdue. {one['evidence_count']} files of evidence, "
        f"{one['integrity_errors_count']} integrity errors."
    )


def _dashboard(content: Content) -> Iterator[Any]:
    one = content["summary"]
    yield facts([(label.replace("_", " ").capitalize(), value) for label, value in one.items()])
    counts = Counter((duty["category"], duty["status"]) for duty in content["obligations"])
    rows = [(category, status, n) for (category, status), n in sorted(counts.items())]
    yield table(("Category", "Status", "Obligations"), rows, shares=(2, 2, 1))


def _permit(content: Content) -> Iterator[Any]:
    meta = content["metadata"]
    yield facts(
        [("Title", meta["document_title"]), ("Number", meta["permit_number"]), ("Site", meta["site_name"])]
    )


def _matrix(content: Content) -> Iterator[Any]:
    rows = [
        (
            duty["reference"],
            duty["summary"],
            duty["frequency"],
            duty["status"],
            _next(duty),
            len(duty["evidence"]),
        )
        for duty in content["obligations"]
    ]
    head = ("Ref.", "Obligation", "Frequency", "Status", "Due", "Evidence")
    yield table(head, rows, shares=(1.2, 5, 1.5, 1.4, 1.3, 1))


def _details(content: Content) -> Iterator[Any]:
    for duty in content["obligations"]:
        yield Spacer(1, 8)
        yield facts(
            [
                ("Reference", duty["reference"]),
                ("Text", duty["original_text"]),
                ("Status", duty["status"]),
                ("Deadlines", _deadlines(duty["deadlines"])),
                (
                    "Evidence",
                    ", ".join(f"{e['file_name']} ({e['integrity_status']})" for e in duty["evidence"])
                    or "none",
                ),
            ]
        )


def _deadlines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a few deadlines out; a daily duty has hundreds, which the attached content lists."""
    if len(rows) <= MOST_DEADLINES:
        return ", ".join(f"{one['due_date']} {one['status']}" for one in rows) or "none"
    counts = Counter(str(one["status"]) for one in rows)
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{rows[0]['due_date']} to {rows[-1]['due_date']}: {told}"


def _gaps(content: Content) -> Iterator[Any]:
    gaps = sorted((duty for duty in content["obligations"] if packs.is_gap(duty)), key=packs.gap_order)
    if not gaps:
        yield paragraph("No gaps.")
        return
    rows = [
        (
            number,
            duty["reference"],
            duty["summary"],
            "overdue" if duty["status"] == "OVERDUE" else "no evidence",
        )
        for number, duty in enumerate(gaps, start=1)
    ]
    yield table(("Priority", "Ref.", "Obligation", "Gap"), rows, shares=(0.8, 1.2, 5, 1.2))


def _actions(content: Content) -> Iterator[Any]:
    gaps = sorted((duty for duty in content["obligations"] if packs.is_gap(duty)), key=packs.gap_order)
    rows = [
        (duty["reference"], "Complete and file evidence: " + duty["summary"], _next(duty)) for duty in gaps
    ]
    yield table(("Ref.", "Action", "By"), rows or [("", "No action is open.", "")], shares=(1, 5, 1.2))


def _risk(content: Content) -> Iterator[Any]:
    one = content["summary"]
    level = "high" if one["overdue_count"] > 3 else "medium" if one["overdue_count"] else "low"
    yield paragraph(f"Overall risk of non-compliance: {level} ({one['overdue_count']} overdue obligations).")


def _samples(content: Content) -> Iterator[Any]:
    files = [
        (item["file_name"], duty["reference"]) for duty in content["obligations"] for item in duty["evidence"]
    ]
    yield table(("Evidence", "For"), files[:10] or [("none", "")], shares=(3, 1))


def _evidence(content: Content) -> Iterator[Any]:
    rows = [
        (item["file_name"], item["file_type"], str(item["upload_date"])[:10], item["integrity_status"])
        for duty in content["obligations"]
        for item in duty["evidence"]
    ]
    yield table(("File", "Type", "Filed", "Integrity"), rows or [("none", "", "", "")], shares=(3, 1, 1, 1))


def _sites(content: Content) -> Iterator[Any]:
    by_site: dict[str, Counter[str]] = {}
    for duty in content["obligations"]:
        by_site.setdefault(str(duty.get("site_name") or ""), Counter())[duty["status"]] += 1
    rows = [
        (site, sum(counts.values()), counts["COMPLETED"], counts["OVERDUE"])
        for site, counts in sorted(by_site.items())
    ]
    yield table(("Site", "Obligations", "Complete", "Overdue"), rows, shares=(3, 1, 1, 1))


def _trend(content: Content) -> Iterator[Any]:
    months: dict[str, Counter[str]] = {}
    for duty in content["obligations"]:
        for one in duty["deadlines"]:
            months.setdefault(one["due_date"][:7], Counter())[one["status"]] += 1
    rows = [
        (month, counts["COMPLETED"], counts["OVERDUE"], sum(counts.values()))
        for month, counts in sorted(months.items())
    ]
    yield table(
        ("Month", "Completed", "Overdue", "Deadlines"), rows or [("none", 0, 0, 0)], shares=(2, 1, 1, 1)
    )


def _certification(content: Content) -> Iterator[Any]:
    meta = content["metadata"]
    yield paragraph(
        f"This statement was put together from the compliance register of {meta['company_name']} on "
        f"{meta['generated_at']}; its manifest of SHA-256 hashes is attached to this file."
    )


def _appendix(content: Content, evidence: Mapping[str, bytes]) -> Iterator[Any]:
    rows = [(name, len(file), page_count(file) or "attached") for name, file in evidence.items()]
    yield paragraph("The files follow as pages where they are PDFs; every file is attached to this one.")
    yield table(("File", "Bytes", "Pages"), rows or [("none", "", "")], shares=(4, 1, 1))


_SECTIONS: dict[str, Any] = {
    "Executive Summary": _summary,
    "Summary": _summary,
    "Compliance Overview": _summary,
    "Key Metrics": _dashboard,
    "Compliance Dashboard": _dashboard,
    "Risk Dashboard": _dashboard,
    "Compliance Controls Summary": _dashboard,
    "Permit Summary": _permit,
    "Obligation Matrix": _matrix,
    "Compliance Matrix": _matrix,
    "Obligation Details": _details,
    "Gap Analysis": _gaps,
    "Risk Prioritisation": _gaps,
    "Action Plan": _actions,
    "Action Items": _actions,
    "Risk Assessment": _risk,
    "Risk Narrative": _risk,
    "Evidence Samples": _samples,
    "Evidence Overview": _evidence,
    "Site Compliance Matrix": _sites,
    "Trend Analysis": _trend,
    "Compliance Certification": _certification,
}


def _next(duty: Mapping[str, Any]) -> str:
    dues: Sequence[Mapping[str, Any]] = [one for one in duty["deadlines"] if one["status"] != "COMPLETED"]
    return str(dues[0]["due_date"]) if dues else ""
