"""Which day does a written date mean?"""

import re
from datetime import date

_MONTHS = {
    name: number
    for number, names in enumerate(
        [
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sep", "sept"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ],
        start=1,
    )
    for name in names
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
DATE_PATTERN = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}\s?[-/.|]\s?\d{1,2}\s?[-/.|]\s?(?:\d{4}|\d{2})\b"
    r"|\d{2} \d{2} \d{4}\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[\s-]*(?:of\s+)?(?:{_MONTH})\.?,?[\s-]*(?:\d{{4}}|\d{{2}})\b"
    rf"|(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}})"
)
"""Matches a written date; use it case-insensitively."""


def parse_date(text: str, *, latest_year: int) -> date | None:
    """The day that a written date means, day before month; None for what is no date.

    A year of two digits is taken in the hundred years up to `latest_year`.
    """
    cleaned = text.strip().lower().replace(",", " ")
    cleaned = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", cleaned)
    if match := re.fullmatch(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", cleaned):
        return _date(int(match[1]), int(match[2]), int(match[3]))
    if match := re.fullmatch(r"(\d{1,2})\s?[-/.|]\s?(\d{1,2})\s?[-/.|]\s?(\d{2}|\d{4})", cleaned):
        return _date(_year(match[3], latest_year), int(match[2]), int(match[1]))
    if match := re.fullmatch(r"(\d{2}) ?(\d{2}) ?(\d{4})", cleaned):
        return _date(_year(match[3], latest_year), int(match[2]), int(match[1]))
    if match := re.fullmatch(rf"(\d{{1,2}})[\s-]*(?:of\s+)?({_MONTH})\.?[\s-]*(\d{{4}}|\d{{2}})", cleaned):
        return _date(_year(match[3], latest_year), _MONTHS[match[2]], int(match[1]))
    if match := re.fullmatch(rf"({_MONTH})\.?\s+(\d{{1,2}})\s+(\d{{4}})", cleaned):
        return _date(int(match[3]), _MONTHS[match[1]], int(match[2]))
    return None


def are_swapped(one: date, other: date) -> bool:
    """True if only day and month are exchanged."""
    return one != other and (one.year, one.month, one.day) == (other.year, other.day, other.month)


def _year(digits: str, latest_year: int) -> int:
    if len(digits) == 4:
        return int(digits)
    century = latest_year - latest_year % 100
    year = century + int(digits)
    return year if year <= latest_year else year - 100


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
