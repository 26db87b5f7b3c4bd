"""Which medicines, conditions and allergies does a letter name, and what does it say of each?"""

import re
from collections.abc import Iterator
from typing import Any

from exora_reader.letters import Statement, statements_of
from exora_reader.lexicon import CONDITIONS, MEDICINES, NO_MEDICINES, REACTIONS, SUBSTANCES

_AMOUNT = (
    r"\d+(?:[.,]\d+)?(?:\s?(?:/|-|–|to)\s?\d+(?:[.,]\d+)?)*\s?"
    r"(?:mg|mcg|micrograms?|µg|ug|g|mL|ml|units?|IU|[uU]|MG|MCG|G|ML|UNITS|puffs?|%)(?:\s?/\s?\d*(?:[.,]\d+)?\s?(?:mL|ml|dose"
    r"|hour|hr|h|day))?(?![/\w])"
)
_FORM = (
    r"(?:\s+(?:XR|SR|MR|CR|ER|LA|EC|HFA|Forte|XL|glargine|aspart|lispro|detemir|degludec|acid|carbonate|chloride"
    r"|sulfate|sulphate|fumarate|valproate|gluconate|citrate))?"
)
_SALT = r"(?:(?:sodium|potassium|calcium|magnesium|ferrous|lithium|zinc)\s+)?"
_DOSED = re.compile(
    rf"(?P<name>{_SALT}[A-Za-z][A-Za-z\-]{{3,}}(?:/[A-Za-z][A-Za-z\-]{{3,}})*{_FORM})"
    rf"(?P<gap>(?:\s*[,(:\-–]\s*|\s+)(?:(?:tablets?|capsules?|inhaler|injection|patch|cream|at|to"
    rf"|a dose of|dose|nocte|oral)\s+){{0,2}})"
    rf"(?P<dose>{_AMOUNT})"
)
_KNOWN = re.compile(
    rf"\b(?P<name>{_SALT}(?:{'|'.join(sorted(MEDICINES, key=len, reverse=True))}){_FORM})\b", re.IGNORECASE
)
_CHANGED = re.compile(
    rf"^[^.;]{{0,40}}?\b(?:increased|reduced|decreased|changed|uptitrated|titrated|tapered|lowered|raised|up"
    rf"|down)\b[^.;]{{0,30}}?\bto\s+(?P<dose>{_AMOUNT})"
)
_FREQUENCY = re.compile(
    r"(?i)\b(?:once|twice|three times|four times)\s+(?:a\s+day|daily|a\s+week|weekly)|\b(?:every"
    r"|each)\s+(?:(?:\d+|two|three|four|six|eight|twelve)\s+(?:hours?|days?|weeks?|months?)|morning"
    r"|night|evening|day|week|month|second day)|\b(?:daily|weekly|monthly|fortnightly|nocte|mane|midi"
    r"|bd|tds|qid|prn|stat|od)\b"
    r"|\bb\.d\.?|\bt\.d\.s\.?|\bq\.i\.d\.?|\bp\.r\.n\.?|\bin the (?:morning|evening)|\bat night|\bat bedtime"
    r"|\bas (?:needed|required)|\bwhen (?:required|needed)|\bq\d{1,2}h\b|\bbefore (?:bed|meals|breakfast)|\bwith meals"
)
_ROUTE = re.compile(
    r"(?i)\b(?:oral(?:ly)?|by mouth|PO|IV|intravenous(?:ly)?|IM|subcut(?:aneous(?:ly)?)?|SC|inhaled"
    r"|topical(?:ly)?|sublingual|PR|eye drops?)\b"
)
_CONDITION = re.compile(rf"(?i)\b(?:{CONDITIONS})\b")
_PROBLEM_HEAD = re.compile(r"(?i)\b(?:diagnos[ei]s|problems?|conditions?)\b")
_PROBLEM = re.compile(r"(?:^|[,;])\s*(?P<name>[A-Za-z][A-Za-z'’\-]+(?: [A-Za-z'’\-]+){0,3})\s*(?=$|[,;.])")
_ALLERGY_HEAD = re.compile(r"(?i)allerg|adverse|sensitivit|reaction|intoleran")
_ALLERGIC = re.compile(
    r"(?i)\b(?:allerg(?:ic|y|ies)|anaphyla(?:xis|ctic(?: reaction)?)|intoleran(?:t|ce)"
    r"|hypersensitiv(?:e|ity)|adverse (?:drug )?reaction"
    r"|reaction|reacts?|sensitivity)\s+(?:\w+\s+){0,2}?(?:to|with|from)\s+(?P<list>[^.;]+)"
)
_CAUSED = re.compile(
    r"(?i)\b(?P<name>[a-z][a-z\-]{3,})\s+(?:gives|gave|makes|made|brings|brought|causes|caused)\s+(?:him|her|them)\b"
)
_ALLERGY_WORD = re.compile(r"(?i)\b(?:allerg\w*|intoleran\w*|anaphyla\w*|hypersensitiv\w*)\b")
_ALLERGY_BEHIND = re.compile(
    r"(?i)\b(?P<name>[a-z][a-z\-]{2,})\s+(?:allergy|anaphylaxis|intolerance|hypersensitivity)\b"
)
_NO_ALLERGY = re.compile(r"(?i)\b(?:nil|no|none|nkda|nka|not)\b")
_REACTION = re.compile(rf"(?i)\b(?:{REACTIONS})\b")
_BREAK = re.compile(r"(?i);|\bbut\b|\bhowever\b|\balthough\b|\bexcept\b|\bapart from\b|\bother than\b")
_CUES = {
    "denied": re.compile(
        r"(?i)\b(?:no|not|nor|denie[sd]|denying|without|nil|never|negative for|avoid(?:ing)?|absence of"
        r"|free of|ruled out|excluded|don['’]t)\b"
    ),
    "family": re.compile(
        r"(?i)\b(?:mother|father|mum|dad|brother|sister|son|daughter|aunt|uncle|grand\w+|cousin|wife"
        r"|husband|partner|parents?"
        r"|siblings?|family history|familial|fhx?|twin)\b"
    ),
    "ended": re.compile(
        r"(?i)\b(?:ceased?|stopp?(?:ed|ing)?|discontinued|no longer|previously|formerly|was on|used to"
        r"|withheld|completed|finished"
        r"|came off|weaned off|resolved|past medications?)\b"
    ),
    "planned": re.compile(
        r"(?i)\b(?:consider\w*|might|may need|could|would|suspected|possible|query|rule out|risk of"
        r"|screen\w* for|discussed|at risk)\b"
    ),
}
_ANSWER = re.compile(r"(?i):\s*(?:yes|no|nil|none)\b")
_COMPANY = re.compile(
    r"(?i)\bwith (?:his|her|their) (?:mother|father|mum|dad|parents|wife|husband|partner|son|daughter|sister|brother)\b"
    r"(?!['’]|,?\s+(?:who|whose|has|had))"
)
"""Who came along; nothing is said of them."""
_BEHIND = {
    "denied": re.compile(
        r"(?i)^\W*(?:\w+\W+){0,3}?(?:was|were|is|has been)?\s*(?:ruled out|excluded|not (?:found|seen"
        r"|present|confirmed)|unlikely)\b"
    ),
    "ended": re.compile(r"(?i)^[^.;]{0,60}?\b(?:ceased|stopped|discontinued|withheld|resolved|no longer)\b"),
}


def read_facts(text: str) -> dict[str, list[dict[str, Any]]]:
    """All facts of a letter by kind, each with the words it was read from and what the letter says of it."""
    found: dict[str, list[dict[str, Any]]] = {"medications": [], "conditions": [], "allergies": []}
    for statement in statements_of(text):
        substances = list(_allergies(statement))
        found["allergies"].extend(substances)
        named = {entry["substance"].lower() for entry in substances}
        if not _ALLERGY_HEAD.search(statement.head):
            found["medications"].extend(
                entry for entry in _medications(statement) if entry["name"].lower() not in named
            )
            found["conditions"].extend(_conditions(statement))
    return found


def _medications(statement: Statement) -> Iterator[dict[str, Any]]:
    text = statement.text
    taken: list[tuple[int, int]] = []
    for match in _DOSED.finditer(text):
        words = re.split(r"[ /]", match["name"].lower())
        is_known = not MEDICINES.isdisjoint(words)
        if not is_known and (
            words[0] in NO_MEDICINES
            or words[0].endswith(("ed", "ing"))
            or not _sounds_like_medicine(statement, match)
        ):
            continue
        dose, end = match["dose"], match.end()
        if changed := _CHANGED.match(text[end:]):
            dose, end = changed["dose"], end + changed.end()
        taken.append((match.start(), end))
        yield _medication(statement, match["name"], dose, match.start("name"), end)
    for match in _KNOWN.finditer(text):
        if any(start <= match.start() < end for start, end in taken):
            continue
        dose, end = "", match.end()
        if changed := _CHANGED.match(text[end:]):
            dose, end = changed["dose"], end + changed.end()
        taken.append((match.start(), end))
        yield _medication(statement, match["name"], dose, match.start(), end)


def _medication(statement: Statement, name: str, dose: str, start: int, end: int) -> dict[str, Any]:
    text = statement.text
    rest = re.split(r"[;.](?:\s|$)|(?:,|,?\s+and)\s+[a-z]+\s+\d", text[end:])[0][:70]
    frequency, route = _FREQUENCY.search(rest), _ROUTE.search(rest)
    status = _status(statement, start, end)
    return {
        "name": name,
        "dose": dose,
        "route": route[0] if route else "",
        "frequency": frequency[0] if frequency else "",
        "quote": text[start:end].strip(),
        "page": statement.page,
        **status,
    }


def _sounds_like_medicine(statement: Statement, match: re.Match[str]) -> bool:
    """A name nobody listed is a medicine where it stands in a list of medicines or is taken so many times a day."""
    if re.search(r"(?i)medic(?:ation|ine)|treatment|drug|script|prescri", statement.head):
        return True
    return bool(_FREQUENCY.search(statement.text[match.end() : match.end() + 40]))


def _conditions(statement: Statement) -> Iterator[dict[str, Any]]:
    if _PROBLEM_HEAD.search(statement.head):
        for match in _PROBLEM.finditer(statement.text):
            # What stands in a list of problems is one, known or not.
            if not _CONDITION.search(match["name"]):
                yield {
                    "name": match["name"],
                    "quote": match["name"],
                    "page": statement.page,
                    **_status(statement, match.start(), match.end()),
                }
    for match in _CONDITION.finditer(statement.text):
        yield {
            "name": match[0],
            "quote": match[0],
            "page": statement.page,
            **_status(statement, match.start(), match.end()),
        }


def _allergies(statement: Statement) -> Iterator[dict[str, Any]]:
    if _ALLERGY_HEAD.search(statement.head):
        yield from _listed(statement, statement.text)
        return
    for match in _ALLERGIC.finditer(statement.text):
        yield from _listed(statement, match["list"], before=statement.text[: match.start()])
    for match in _CAUSED.finditer(statement.text):
        if _ALLERGY_WORD.search(statement.text) and match["name"].lower() in SUBSTANCES | MEDICINES:
            yield _allergy(statement, match["name"], match[0], before=statement.text[: match.start()])
    for match in _ALLERGY_BEHIND.finditer(statement.text):
        if match["name"].lower() in SUBSTANCES | MEDICINES:
            yield _allergy(statement, match["name"], match[0], before=statement.text[: match.start()])


def _listed(statement: Statement, text: str, *, before: str = "") -> Iterator[dict[str, Any]]:
    """The substances of a list: penicillin (rash), latex - hives."""
    items = re.split(r",|;|\band\b(?=\s+[a-z]+\s*(?:\(|,|$|\.))|\n", text)
    for place, item in enumerate(items):
        word = _substance(item)
        is_item = (_ALLERGY_HEAD.search(statement.head) or place == 0) and not _NO_ALLERGY.search(item)
        if (
            word is None
            and is_item
            and (match := re.match(r"\s*([A-Za-z][A-Za-z\-]{3,})\s*(?:[(:\-–.]|$)", item))
        ):
            word = match[1]
        if word is not None and not _REACTION.fullmatch(word):
            yield _allergy(statement, word, item.strip(" ."), before=before + item[: item.find(word)])


def _substance(item: str) -> str | None:
    """The first substance of an item with the words that belong to it: iodine contrast."""
    tokens = re.findall(r"[A-Za-z][A-Za-z\-]{2,}", item)
    known = [token.lower() in SUBSTANCES | MEDICINES for token in tokens]
    if True not in known:
        return None
    first = last = known.index(True)
    while last + 1 < len(tokens) and known[last + 1] and f"{tokens[last]} {tokens[last + 1]}" in item:
        last += 1
    return " ".join(tokens[first : last + 1])


def _allergy(statement: Statement, substance: str, quote: str, *, before: str) -> dict[str, Any]:
    reaction = _REACTION.search(quote.replace(substance, "", 1)) or _REACTION.search(statement.text)
    clause = _BREAK.split(before)[-1]
    return {
        "substance": substance,
        "reaction": reaction[0] if reaction else "",
        "quote": substance,
        "page": statement.page,
        "negated": bool(_CUES["denied"].search(clause)),
        "subject": "family" if _CUES["family"].search(before) else "patient",
        "status": "active",
    }


def _status(statement: Statement, start: int, end: int) -> dict[str, Any]:
    before = _ANSWER.split(_BREAK.split(_COMPANY.sub(" ", statement.text[:start]))[-1])[-1]
    after = _BREAK.split(statement.text[end:])[0]
    said = {kind for kind, cue in _CUES.items() if cue.search(before)}
    said |= {kind for kind, cue in _BEHIND.items() if cue.search(after)}
    said |= {kind for kind in ("family", "ended") if _CUES[kind].search(statement.head)}
    status = "ended" if "ended" in said else "planned" if "planned" in said else "active"
    return {
        "negated": "denied" in said,
        "subject": "family" if "family" in said else "patient",
        "status": status,
    }
