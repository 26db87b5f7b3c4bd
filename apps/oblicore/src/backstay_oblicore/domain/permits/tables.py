"""Duties that stand in tables: limits, monitoring, reporting, improvements, and whatever a heading makes binding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from backstay_oblicore.domain.permits.pages import Line, Table, mend_code, tidy
from backstay_oblicore.domain.permits.segments import Segment
from backstay_oblicore.domain.permits.sentences import has_modal, is_candidate, is_imperative, split

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
# A heading that says by itself that its column binds, such as "What you must do" or "Restrictions".
BINDING_HEADING = re.compile(
    r"\b(?:must|shall|has\s+to|have\s+to|dut(?:y|ies)|obligations?|restrictions?|prohibitions?|"
    r"precautions?|tasks?|what\s+to\s+do)\b",
    I,
)
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("limit", r"\blimits?\b|\bmaximum\b|\belv\b|\bnot\s+to\s+exceed"),
    ("unit", r"^units?\b"),
    ("frequency", r"frequency|how\s+often|reporting\s+period|interval"),
    ("date", r"\bdate\b|deadline|due|completion|by\s+when|timescale"),
    ("requirement", r"requirement|improvement|measure\b|action|pre-?operational"),
    ("reference", r"^ref|^no\.?$|^number$|^item$|^code$|condition"),
    ("parameter", r"parameter|substance|pollutant|determinand|emission$|constituent"),
    ("point", r"emission\s+point|location|source|\bpoint\b|outlet|release"),
    ("period", r"period\s+begins|reference\s+period"),
    ("method", r"method|standard|technique"),
)
NOTHING = re.compile(
    r"(?:[-–—]+|n/?a|none(?:\s+set)?|nil|no\s+(?:limits?|restrictions?|requirements?)(?:\s+\w+)?|"
    r"not\s+(?:applicable|set|limited)|(?:report(?:ing)?|monitor(?:ing)?)\s+only)?\.?",
    I,
)
FEWEST_WORDS = 4  # of a requirement that can stand by itself
SURE, HARDLY_SURE = 0.93, 0.80


@dataclass(frozen=True)
class TableDuty:
    """One row that binds somebody, put into a sentence."""

    reference: str
    text: str
    page: int
    kind: str  # LIMIT | MONITORING | REPORTING | IMPROVEMENT | REQUIREMENT
    parameter: str | None = None
    limit: Decimal | None = None
    minimum: Decimal | None = None
    unit: str | None = None
    confidence: float = SURE


@dataclass(frozen=True)
class TableReading:
    """What tables came to: their duties, and the cells that no duty tells, to be read like running text."""

    duties: tuple[TableDuty, ...]
    rest: tuple[Segment, ...]


def read_tables(tables: Sequence[Table]) -> TableReading:
    """Read every row: as a duty where the headings say what it is, else word by word."""
    duties: list[TableDuty] = []
    rest: list[Segment] = []
    header: tuple[str, ...] = ()
    caption = ""
    for table in tables:
        rows = [tuple(mend_code(tidy(cell or "")) for cell in row) for row in table.rows]
        if not rows:
            continue
        if _is_header(rows[0]):
            header, rows, caption = rows[0], rows[1:], table.caption
        elif len(rows[0]) != len(header):
            # A table that goes on after a page break has no header of its own; this one stands by itself.
            header, caption = (), ""
        for row in rows:
            told = _Row(row, header, caption or table.caption, table.page)
            duty = told.duty()
            duties += [duty] if duty else []
            rest += told.untold(duty)
    return TableReading(tuple(duties), tuple(rest))


def _is_header(row: Sequence[str]) -> bool:
    """Tell headings from a row of sentences that happens to hold their words."""
    return bool(_columns(row)) and not any(cell.endswith(".") and is_candidate(cell) for cell in row)


@dataclass(frozen=True)
class _Row:
    cells: tuple[str, ...]
    header: tuple[str, ...]
    caption: str
    page: int

    @property
    def named(self) -> dict[str, str]:
        """The cells by the names of their columns, as far as the headings tell."""
        columns = _columns(self.header)
        named = {name: self.cells[at].strip() for name, at in columns.items() if at < len(self.cells)}
        if any(named.values()) and re.fullmatch(r"[A-Z]{1,3}\s?-?\d{1,3}[a-z]?", self.cells[0].strip()):
            named.setdefault("code", self.cells[0].strip())
        return named

    def duty(self) -> TableDuty | None:
        named = self.named
        if not any(named.values()):
            return None
        if named.get("requirement"):
            is_programme = "date" in named or "code" in named or re.search(r"improvement", self.caption, I)
            if is_programme and not BINDING_HEADING.search(" ".join(self.header)):
                return _improvement(named, _label(self.caption), self.page)
            return self._requirement(named)
        return self._measured(named)

    def _requirement(self, named: dict[str, str]) -> TableDuty | None:
        words = named["requirement"].rstrip(".")
        if NOTHING.fullmatch(words) or len(f"{self._subject} {words}".split()) < FEWEST_WORDS:
            return None
        is_number = re.fullmatch(r"[\d.]*", self._subject)
        subject = "" if is_number else f"{self._subject}: "
        often = next((named[name] for name in ("frequency", "date") if named.get(name)), "")
        text = f"{subject}{words}{f', {often}' if often else ''}."
        plain = is_candidate(text) or is_imperative(words) or has_modal(" ".join(self.header))
        return TableDuty(
            self._reference, text, self.page, "REQUIREMENT", confidence=SURE if plain else HARDLY_SURE
        )

    def _measured(self, named: dict[str, str]) -> TableDuty | None:
        subject = named.get("parameter") or named.get("point") or ""
        limit = named.get("limit", "")
        if not subject and not NOTHING.fullmatch(limit):
            subject = self._subject
        if not subject:
            return None
        point = named.get("point") or named.get("reference") or ""
        label = _label(self.caption)
        reference = " ".join(part for part in (label, point if point != subject else "", subject) if part)[
            :120
        ]
        if re.search(r"\d", limit):
            return _limit(named, subject, reference, self.page)
        often = named.get("frequency", "")
        if not NOTHING.fullmatch(limit):
            text = f"{subject}: {limit.rstrip('.')}{f', monitored {often}' if often else ''}."
            return TableDuty(reference, text, self.page, "LIMIT", parameter=subject)
        if NOTHING.fullmatch(often):
            return None
        if re.search(r"report", f"{self.caption} {' '.join(named)}", I):
            text = f"{subject} at {point} shall be reported: {often}."
            return TableDuty(reference, text, self.page, "REPORTING", parameter=subject)
        where = f" at {point}" if point and point != subject else ""
        return TableDuty(
            reference, f"{subject}{where} shall be monitored {often}.", self.page, "MONITORING", subject
        )

    def untold(self, duty: TableDuty | None) -> Iterator[Segment]:
        """Return what the duty does not say: the whole row where there is none, else cells that bind by themselves."""
        if duty is None:
            binding = [self.named.get(name, "") for name in ("requirement", "limit")]
            is_binding = any(not NOTHING.fullmatch(cell) for cell in binding)
            yield self._segment(self._words(), is_binding=is_binding)
            return
        said = _plain(f"{duty.reference} {duty.text}")
        for cell in self.cells:
            loose = [one for one in split(cell) if is_candidate(one) and _plain(one) not in said]
            if loose:
                yield self._segment(" ".join(loose), is_binding=False)

    def _segment(self, words: str, *, is_binding: bool) -> Segment:
        return Segment(self._reference, self.caption, self.page, [words], self.page, is_binding)

    def _words(self) -> str:
        """The row as a sentence: "Leaks: repair within a day; the shift leader."."""
        first, *others = [cell.strip() for cell in self.cells if cell.strip()] or [""]
        text = first
        for index, cell in enumerate(others):
            joint = " " if cell[0].islower() or text.endswith((".", ":")) else "; " if index else ": "
            text += joint + cell
        return text if not text or text.endswith(".") else f"{text}."

    @property
    def _subject(self) -> str:
        at = _columns(self.header).get("requirement")
        return next((cell.strip() for n, cell in enumerate(self.cells) if n != at and cell.strip()), "")

    @property
    def _reference(self) -> str:
        if re.fullmatch(r"[A-Z]{0,3}\s?-?\d[\d.]*[a-z]?", self._subject):
            return self._subject
        return f"{_label(self.caption)} {self._subject}".strip()[:120] or f"table on page {self.page}"


LIMIT_LINE = re.compile(
    r"^(?P<point>[A-Z]{1,2}\s?\d{1,2}[a-z]?)[\s|]+(?P<parameter>[A-Z][A-Za-z0-9\s(),-]+?)[\s|]+"
    r"(?P<limit>[<≤]?\s?\d[\d.,]*(?:\s*(?:-|–|to)\s*\d[\d.,]*)?)\s*"
    r"(?P<unit>(?:mg|µg|ug|ng|g|kg|m3|m³|l)/\S+|°C|%|dB\S*|pH(?:\s+units)?)[\s|]*(?P<frequency>.*)$"
)


def duties_in_lines(lines: Sequence[Line]) -> tuple[list[TableDuty], list[Line]]:
    """Take rows of limits out of running text, as recognised pages have them; return them and the other lines."""
    found: list[TableDuty] = []
    rest: list[Line] = []
    label = ""
    for line in lines:
        label = _label(line.text) or label
        match = LIMIT_LINE.match(line.text)
        if match is None:
            rest.append(line)
            continue
        cells = {**match.groupdict(), "limit": match["limit"].strip()}
        reference = f"{label} {match['point']} {match['parameter']}".strip()[:120]
        found.append(_limit(cells, match["parameter"], reference, line.page))
    return found, rest


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Say which column is what; empty if the headings make no table of duties."""
    columns: dict[str, int] = {}
    binding = next((index for index, cell in enumerate(header) if BINDING_HEADING.search(cell)), None)
    if binding is not None and not re.search(r"\blimits?\b", header[binding], I):
        columns["requirement"] = binding
    for index, cell in enumerate(header):
        if index in columns.values():
            continue
        for name, pattern in _COLUMNS:
            if name not in columns and re.search(pattern, cell.strip(), I):
                columns[name] = index
                break
    binds = {"limit", "requirement", "frequency"} & set(columns)
    subject = {"parameter", "reference", "point", "requirement"} & set(columns)
    is_worded_limit = "limit" in columns and len(header) >= 2
    return columns if binds and (subject or is_worded_limit) else {}


def _improvement(cells: dict[str, str], label: str, page: int) -> TableDuty | None:
    requirement = cells["requirement"]
    if len(requirement.split()) < FEWEST_WORDS:
        return None
    when = cells.get("date", "")
    if when and not re.match(r"(?:by|within|before|no|not|on|prior|at|complete)", when, I):
        when = f"by {when}" if re.match(r"\d", when) else when
    when = f"{when[0].lower()}{when[1:]}" if when else ""  # it goes on with the sentence
    text = requirement.rstrip(".") + (f", {when.rstrip('.')}." if when else ".")
    reference = cells.get("reference") or cells.get("code") or label or "improvement"
    return TableDuty(reference, text, page, "IMPROVEMENT")


def _limit(cells: dict[str, str], subject: str, reference: str, page: int) -> TableDuty:
    written = cells["limit"]
    unit = cells.get("unit") or re.sub(r"^[^A-Za-z°%µ]*", "", written).strip() or None
    numbers = [_number(text) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", re.sub(r"m3|m³|Nm3", "", written))]
    known = [number for number in numbers if number is not None]
    is_range = len(known) == 2 and bool(re.search(r"\d\s*(?:-|–|to|and)\s*\d", written))
    shown = written if not cells.get("unit") else f"{written} {cells['unit']}"
    verb = "shall lie within" if is_range else "shall not exceed"
    how_often = f", monitored {cells['frequency']}" if cells.get("frequency") else ""
    where = f" at {cells['point']}" if cells.get("point") and cells["point"] != subject else ""
    return TableDuty(
        reference,
        f"{subject}{where} {verb} {shown}{how_often}.",
        page,
        "LIMIT",
        parameter=subject,
        limit=max(known) if known else None,
        minimum=min(known) if is_range else None,
        unit=unit,
    )


def _label(caption: str) -> str:
    match = re.match(
        r"((?:table|schedule|annex|appendix)\s+[\w.]+|(?:[A-Z]{1,4}\s)?\d{1,2}(?:\.\d{1,3})*(?=[\s.:)]))",
        caption,
        I,
    )
    return match[1] if match else ""


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
