"""Is a fact said plainly? What is not is asked about: nobody can list every way to take a thing back.

A condition is said plainly where it stands in a list or behind a word that asserts it, and where what goes on behind
it is one of a few known turns. A line of a list of medicines is plain if nothing but directions stands on it.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from backstay_exora.domain.clinical.sentences import Sentence
from backstay_exora.domain.text import PageWord, bare


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _words(
    """
    a an the this his her their your my our its both also and & plus then still now currently again very quite known
    chronic acute severe mild moderate stable unstable longstanding long-standing long standing recurrent persistent
    frequent new newly bilateral left right well poorly controlled uncontrolled diet diet-controlled established
    underlying background ongoing symptomatic active advanced early adult late-onset end-stage metastatic painful
    primary secondary essential type stage grade class severity significant extensive diabetic small large marked
    generalised idiopathic open angle relapsing remitting progressive one two three four five six seven eight nine ten
    year years month months week weeks ago aged age times
    """
)
"""Words that say nothing for or against the fact they stand beside."""
_ASSERTS = _words(
    """
    has have having includes include including confirmed confirms showed shows showing revealed reveals demonstrated
    developed develops carries suffers known namely
    """
)
_ASSERTS_BEHIND = {
    "of": _words(
        """
        history diagnosis diagnoses background case exacerbation exacerbations flare flares attack attacks management
        because complains treatment control context setting onset review care combination form degree aware
        """
    ),
    "for": _words(
        """
        management treated treatment taken takes taking review reviewed followed seen referred referral care admitted
        medication medications medicines daily therapy surgery replacement operation operated sees attends bd tds mane
        nocte night morning mg him her
        """
    ),
    "to": _words("due secondary owing"),
    "from": _words("suffers suffering suffered"),
    "as": _words("diagnosed such"),
    "by": _words("complicated caused troubled limited followed"),
    "is": _words("diagnosis problem condition impression issue reason"),
    "are": _words("diagnoses problems conditions issues comorbidities"),
    "had": _words("has have"),
    "were": _words("diagnoses problems"),
    "was": _words("diagnosis"),
}
"""Words that assert what follows them only behind one of these."""
_LABELS = _words(
    "history hx pmh pmhx diagnosis diagnoses dx problems conditions background impression assessment"
)
"""At the beginning of a line these are a heading, also where the scanner lost the colon."""
_HEDGED_WITH = _words("consistent compatible keeping concerned associated confused worried help dealing")
_GOES_ON = _words(
    """
    with since for on in at of as who which that treated managed controlled diagnosed confirmed complicated under
    requiring needing secondary due today he she they it i we but so because although though however where while when
    yes y present currently stable being rate has-been remission predominantly affecting involving
    """
)
"""What may stand behind a condition without taking anything back."""
_LINKS = _words("is are was were has have been remains remain being continues")
_JOINS, _ANSWERS = frozenset({"and", "&", "plus"}), frozenset({"yes", "no", "y", "n", "nil", "none"})
_PREDICATES = _words(
    """
    well poorly reasonably fairly optimally better controlled managed treated stable confirmed known longstanding
    reviewed followed under monitored present active severe mild moderate on responding noted found seen diagnosed
    established still currently now unchanged chronic worse worsening improving also troublesome due helped
    symptomatic flaring troubling progressing mending settling quiet in good as
    """
)
_DIRECTIONS = _words(
    """
    a an the at in on to of and or per x with without before after by via into each every once twice three four two
    one half times time daily day days weekly week weeks monthly month months fortnightly fortnight hour hours hourly
    five six seven eight nine ten inhalation inhalations lozenge lozenges pessary suppository wafer morning mornings
    evening evenings night nightly bedtime bed noon midday lunch dinner breakfast meals meal food water milk mane
    nocte midi am pm bd bid tds tid qid qds od prn po sc im iv sl pr stat ac pc oral orally mouth subcut subcutaneous
    subcutaneously intravenous inhaled topical topically sublingual nebulised tablet tablets tab tabs capsule capsules
    cap caps puff puffs drop drops spray sprays patch patches injection inhaler cream ointment gel syrup solution
    sachet sachets pen eye eyes ear ears nostril affected area skin dose doses mg mcg g ml units unit iu microgram
    micrograms mmol percent sr xr mr cr er la ec xl hfa forte modified slow extended release controlled enteric coated
    as inr needed required directed prescribed if necessary when only up maximum max total current currently continue
    continued continues continuing unchanged new regular regularly ongoing long-term longterm long term active yes
    taken take takes taking same started start commenced increased reduced adjusted monday tuesday wednesday thursday
    friday saturday sunday mondays wednesdays fridays alternate second other
    """
)
_SAYS_PURPOSE, _PURPOSE = frozenset({"for", "to"}), 4
"""Behind these, so many words may say what for, or where, a medicine is used."""


@dataclass(frozen=True, slots=True)
class _Token:
    core: str
    is_neutral: bool
    ends: str
    """The sign it ends with, if that divides: a comma, a colon, a full stop."""


def is_plainly_said(sentence: Sentence, known: Set[PageWord]) -> bool:
    """True if the sentence asserts the condition, or lists it. `known` are the words of all proposed facts."""
    lead = [_token(word, known) for word in sentence.lead]
    governor = _governor(lead)
    return governor is not None and _goes_on_plainly(sentence, known, governor)


def stands_in_list(sentence: Sentence, known: Set[PageWord]) -> bool:
    """True if nothing stands before a medicine but a label and other medicines with their directions."""
    labels = [place for place, word in enumerate(sentence.lead) if word.text[-1:] in ":;"]
    return _are_directions(sentence.lead[labels[-1] + 1 if labels else 0 :], known)


def has_only_directions(sentence: Sentence, known: Set[PageWord]) -> bool:
    """True if behind a medicine stands nothing but how it is taken, and at most what for."""
    return _are_directions(sentence.tail, known)


def _are_directions(words: Sequence[PageWord], known: Set[PageWord]) -> bool:
    purpose = 0
    for word in words:
        core = bare(word.text)
        if core in _SAYS_PURPOSE:
            purpose = _PURPOSE
        elif not (word in known or not core or _has_figure(core) or _all_directions(core)):
            purpose -= 1
            if purpose < 0:
                return False
    return True


def _all_directions(core: str) -> bool:
    return all(part in _DIRECTIONS for part in re.split(r"[^a-z]+", core) if part)


def _governor(lead: Sequence[_Token]) -> str | None:
    """Walk back from the condition to the word that asserts it; empty at the beginning of a list, None for none."""
    for place in reversed(range(len(lead))):
        token = lead[place]
        if token.ends in {":", ";"} or _is_answer(lead, place) or token.core.endswith(("'s", "’s")):
            return ""
        if token.ends == "," and any(other.ends == ":" for other in lead[:place]):
            return ""  # an item of a list behind its label; what the items before it say is theirs
        if token.is_neutral:
            continue
        if token.core in _ASSERTS:
            return token.core
        if place == 0 and token.core in _LABELS:
            return ""
        before = next((other.core for other in reversed(lead[:place]) if other.core not in _FILLERS), "")
        if token.core == "with":
            return None if before in _HEDGED_WITH else token.core
        return token.core if before in _ASSERTS_BEHIND.get(token.core, frozenset()) else None
    return ""


def _is_answer(lead: Sequence[_Token], place: int) -> bool:
    """True for the answer of a form to what stands before: Gout: No."""
    return place > 0 and lead[place - 1].ends == ":" and lead[place].core in _ANSWERS


def _goes_on_plainly(sentence: Sentence, known: Set[PageWord], governor: str) -> bool:
    if sentence.words[-1].text[-1:] in ".;":
        return True
    last = _token(sentence.words[-1], known)
    tail = [last, *_until_sign([_token(word, known) for word in sentence.tail])]
    for place, token in enumerate(tail):
        if token.core in _JOINS or (token.ends == "," and _is_list(tail[place + 1 :])):
            return True
        if token.is_neutral:
            continue
        if token.core in _LINKS:
            if governor == "with":  # of "a man with gout has come", the man is the subject
                return True
            following = (other.core for other in tail[place + 1 :] if other.core not in _LINKS)
            return next(following, "") in _PREDICATES
        return token.core in _GOES_ON
    return True


def _is_list(rest: Sequence[_Token]) -> bool:
    """True if what follows a comma is divided once more, as the items of a list are."""
    return any(token.ends == "," or token.core in _JOINS for token in rest)


def _until_sign(tail: Sequence[_Token]) -> list[_Token]:
    """The words up to the end of the clause."""
    found = []
    for token in tail:
        found.append(token)
        if token.ends in {".", ";"}:
            break
    return found


def _token(word: PageWord, known: Set[PageWord]) -> _Token:
    core = bare(word.text)
    is_neutral = word in known or not core or core in _FILLERS or _has_figure(core)
    return _Token(core, is_neutral, word.text[-1:] if word.text[-1:] in ",:;." else "")


def _has_figure(core: str) -> bool:
    return any(letter.isdigit() for letter in core)
