"""What does the document say around a few words: denied, of somebody else, ended, planned, an allergy?"""

import re
from collections.abc import Set

from backstay_exora.domain.clinical import cues
from backstay_exora.domain.clinical.cues import Context
from backstay_exora.domain.clinical.plain import has_only_directions, stands_in_list
from backstay_exora.domain.clinical.sentences import Sentence, is_heading
from backstay_exora.domain.text import DocumentText, PageWord

__all__ = ["Context", "context_of", "is_said_in_earnest"]

_MEDICINES = re.compile(r"(?i)\b(?:medi\w+|meds|drugs?|treatment|therapy)\b")


def context_of(document: DocumentText, around: Sentence) -> frozenset[Context]:
    """Everything that the sentence and the section around the words make of them."""
    words = around.words
    found = {kind for kind, cue in cues.BEFORE.items() if cue.search(around.before)}
    found |= {kind for kind, cue in cues.AFTER.items() if cue.search(around.after)}
    found |= {kind for kind, cue in cues.HEADS.items() if cue.search(around.head)}
    if not re.search(r"[,.;]$", words[-1].text) and cues.ANSWERED_NO.search(around.after):
        found |= {Context.DENIED, Context.NO_ALLERGY}
    if cues.NOT_ALLERGIC.search(around.before):
        found.add(Context.NO_ALLERGY)
    is_queried = around.lead[-1:] and around.lead[-1].text == "?"
    if is_queried or words[0].text.startswith("?") or words[-1].text.rstrip(".,;)").endswith("?"):
        found.add(Context.PLANNED)
    if cues.ADMISSION.search(around.head) and _has_discharge_list(document):
        found.add(Context.EARLIER_LIST)
    if cues.NAMED.search(around.after):
        found.add(Context.IN_A_NAME)
    if _is_perhaps_a_relatives(around):
        found.add(Context.UNCLEAR)
    return frozenset(found)


def is_said_in_earnest(around: Sentence, known: Set[PageWord]) -> bool:
    """True if the letter says of a medicine that it is taken; a line of a list says so by standing in it.

    `known` are the words of all proposed facts.
    """
    lead = around.whole_before.rpartition(";")[2].strip(" •*·-–—.):(0123456789")
    if cues.REACTED.search(around.before) or cues.REACTS.search(around.after):
        return False
    if cues.ONCE.search(around.after) or cues.GIVEN_HEAD.search(around.head):
        return False
    is_stated = cues.STATED.search(around.after) is not None
    if is_stated or (lead and cues.IN_EARNEST.search(lead)):
        return True
    if not stands_in_list(around, known) or cues.OPEN_HEAD.search(around.head):
        return False
    return has_only_directions(around, known)


def _is_perhaps_a_relatives(around: Sentence) -> bool:
    """True if the sentence goes on about "she" or "he" where a relative was spoken of just before."""
    sentence = f"{around.whole_before} {' '.join(word.text for word in around.words)}"
    pronoun = cues.PRONOUN.match(sentence)
    if pronoun is None:
        return False
    meant = cues.MEANT[pronoun["who"]]
    for earlier in around.earlier:
        if re.match(rf"(?i)^\W*(?:\w+\W+){{0,2}}?(?:{meant}|{cues.ANYBODY})\b", earlier):
            return True
        going_on = cues.PRONOUN.match(earlier)
        if going_on is None or cues.MEANT[going_on["who"]] != meant:
            return False
    return False


def _has_discharge_list(document: DocumentText) -> bool:
    return any(
        is_heading(line) and cues.DISCHARGE.search(line.text) and _MEDICINES.search(line.text)
        for line in document.lines
    )
