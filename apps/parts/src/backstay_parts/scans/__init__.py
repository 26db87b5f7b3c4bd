"""Scan damage for test documents: a clean page becomes one that came through a scanner."""

from backstay_parts.scans.damage import Damage, damaged

__all__ = ["Damage", "damaged"]
