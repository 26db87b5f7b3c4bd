"""Where each file lies: one place that builds paths from checked parts."""

from __future__ import annotations

import re

from backstay_oblicore.domain.errors import InvalidRequest

PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def document_original(company: str, site: str, document: str) -> str:
    """The file as it was uploaded."""
    return _join("documents", company, site, document, "original.pdf")


def document_text(company: str, site: str, document: str) -> str:
    """The text that was read out of it."""
    return _join("documents", company, site, document, "extracted_text.txt")


def document_words(company: str, site: str, document: str) -> str:
    """Where each word of its scanned pages stands."""
    return _join("documents", company, site, document, "recognised_words.json")


def evidence_file(company: str, site: str, evidence: str, *, name: str, extension: str) -> str:
    """One file of evidence."""
    return _join("evidence", company, site, evidence, f"{name}.{extension}")


def pack_file(company: str, site: str | None, pack: str, *, timestamp: str, extension: str = "pdf") -> str:
    """A pack; one of the whole company lies under `company` instead of a site."""
    return _join("audit-packs", company, site or "company", pack, f"audit-pack-{timestamp}.{extension}")


def aer_pdf(company: str, document: str, aer: str, *, year: int) -> str:
    """The annual report to be printed."""
    return _join("aer-documents", company, document, aer, f"aer-{year}.pdf")


def aer_csv(company: str, document: str, aer: str, *, year: int) -> str:
    """The annual report's figures."""
    return _join("aer-documents", company, document, aer, f"aer-{year}-data.csv")


def import_file(company: str, site: str, import_id: str, *, extension: str) -> str:
    """A register as it was uploaded."""
    if extension not in ("xlsx", "xls", "csv"):
        raise InvalidRequest(f"a register is an xlsx, xls or csv file, not {extension!r}")
    return _join("imports", company, site, import_id, f"original.{extension}")


def _join(*parts: str) -> str:
    for part in parts:
        if not PART.fullmatch(part) or ".." in part:
            raise InvalidRequest(f"not a safe part of a path: {part!r}")
    return "/".join(parts)
