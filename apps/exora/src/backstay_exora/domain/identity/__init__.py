"""Whose document is it? Found by our own rules from the words on the page."""

from backstay_exora.domain.identity.compare import Agreement, Comparison, Patient, compare
from backstay_exora.domain.identity.gate import Gate, ModelView, decide
from backstay_exora.domain.identity.marker import Marker, MarkerKind
from backstay_exora.domain.identity.markers import find_markers

__all__ = [
    "Agreement",
    "Comparison",
    "Gate",
    "Marker",
    "MarkerKind",
    "ModelView",
    "Patient",
    "compare",
    "decide",
    "find_markers",
]
