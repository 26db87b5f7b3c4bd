"""May the document go on by itself, or must a person look first?"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from backstay_exora.domain import messages
from backstay_exora.domain.identity.compare import Agreement, Comparison, Patient, compare, compare_names
from backstay_exora.domain.identity.marker import APPROVED, Marker, MarkerKind
from backstay_exora.domain.identity.markers import find_markers
from backstay_exora.domain.identity.people import has_second_person, other_patients_named
from backstay_exora.domain.text import DocumentText

NEEDED = 3
_ANCHORS = frozenset({MarkerKind.DATE_OF_BIRTH, MarkerKind.RECORD_NUMBER, MarkerKind.IHI})
_SINGULAR = (
    MarkerKind.NAME,
    MarkerKind.DATE_OF_BIRTH,
    MarkerKind.RECORD_NUMBER,
    MarkerKind.IHI,
    MarkerKind.GENDER,
)


@dataclass(frozen=True, slots=True)
class ModelView:
    """What the model said of the document's owner; it can close the gate, never open it."""

    manual_review_required: bool = False
    cross_profile_risk: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict, its reasons in words, and what it was reckoned from."""

    is_open: bool
    reasons: tuple[str, ...]
    matches: tuple[MarkerKind, ...]
    comparisons: tuple[Comparison, ...]
    other_patients: tuple[str, ...] = field(default=())
    has_second_person: bool = False

    @property
    def risk(self) -> float:
        """A figure for lists, 0 to 1; the verdict is not reckoned from it."""
        if self.is_open:
            return 0.0
        is_wrong = any(item.agreement in {Agreement.DIFFERS, Agreement.SWAPPED} for item in self.comparisons)
        if is_wrong or self.has_second_person or self.other_patients:
            return 0.9
        return 0.7 if self.matches else 0.8


def decide(
    patient: Patient,
    document: DocumentText,
    *,
    latest_year: int,
    others: Sequence[Patient] = (),
    model: ModelView | None = None,
) -> Gate:
    """Open only if three approved identifiers match, name and an anchor among them, and nothing speaks against it.

    `others` are the practice's other patients.
    """
    markers = find_markers(document, latest_year=latest_year)
    comparisons = compare(patient, markers)
    matches = _matches(comparisons)
    second = _second_identifiers(markers)
    is_second = bool(second) or has_second_person(document, patient, latest_year=latest_year)
    named = other_patients_named(document, patient, others, latest_year=latest_year)
    rivals = [other.id for other in others if other.id != patient.id and _is_match(compare(other, markers))]
    reasons = [
        *([] if document.words else [messages.GATE_NO_TEXT]),
        *_differences(comparisons),
        *(messages.GATE_SECOND_PERSON.format(what=kind) for kind in second),
        *([messages.GATE_SOMEBODY_ELSE] if is_second and not second else []),
        *([messages.GATE_SECOND_PATIENT] if rivals else []),
        *([messages.GATE_OTHER_PATIENT_NAMED] if named and not rivals else []),
        *_model_reasons(model),
        *_missing(matches),
    ]
    is_open = not reasons
    told = tuple(reasons) if reasons else (messages.GATE_OPEN.format(count=len(matches)),)
    found = tuple(dict.fromkeys([*rivals, *named]))
    return Gate(is_open, told, tuple(matches), tuple(comparisons), found, is_second)


def _matches(comparisons: Sequence[Comparison]) -> list[MarkerKind]:
    return [
        item.kind for item in comparisons if item.agreement is Agreement.MATCHES and item.kind in APPROVED
    ]


def _missing(matches: Sequence[MarkerKind]) -> list[str]:
    reasons = []
    if len(matches) < NEEDED:
        reasons.append(messages.GATE_TOO_FEW.format(count=len(matches)))
    if MarkerKind.NAME not in matches or not _ANCHORS.intersection(matches):
        reasons.append(messages.GATE_NO_ANCHOR)
    return reasons


def _differences(comparisons: Sequence[Comparison]) -> list[str]:
    reasons = []
    for item in comparisons:
        if item.agreement is Agreement.SWAPPED:
            reasons.append(messages.GATE_SWAPPED)
        elif item.agreement is Agreement.DIFFERS:
            reasons.append(messages.GATE_DIFFERS.format(what=item.kind))
    return reasons


def _is_match(comparisons: Sequence[Comparison]) -> bool:
    return not _differences(comparisons) and not _missing(_matches(comparisons))


def _second_identifiers(markers: Sequence[Marker]) -> list[MarkerKind]:
    """Kinds of which two different ones stand on the document, or one that is a relative's."""
    found = []
    for kind in _SINGULAR:
        of_kind = [marker for marker in markers if marker.kind is kind and not marker.is_title]
        values = sorted({marker.value for marker in of_kind})
        is_relatives = any(marker.is_relatives for marker in of_kind)
        if is_relatives or any(not _is_same(kind, values[0], value) for value in values[1:]):
            found.append(kind)
    return found


def _is_same(kind: MarkerKind, one: str, other: str) -> bool:
    if kind is MarkerKind.DATE_OF_BIRTH and min(len(one), len(other)) == 4:
        return one[:4] == other[:4]
    if kind is not MarkerKind.NAME:
        return one == other
    return (
        compare_names(one, other) is not Agreement.DIFFERS
        or compare_names(other, one) is not Agreement.DIFFERS
    )


def _model_reasons(model: ModelView | None) -> list[str]:
    if model is None or not (model.manual_review_required or model.cross_profile_risk):
        return []
    return [messages.GATE_MODEL]
