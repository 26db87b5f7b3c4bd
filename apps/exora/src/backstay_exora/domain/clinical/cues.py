"""The words by which a letter takes a fact back, gives it to somebody else, or says it in earnest."""

import re
from enum import StrEnum


class Context(StrEnum):
    """What the words around a fact make of it."""

    DENIED = "denied"
    OTHER_PERSON = "other person"
    ENDED = "ended"
    PLANNED = "planned"
    ALLERGY = "allergy"
    EARLIER_LIST = "earlier list"
    """Under a heading of medicines before an admission, where the letter has a list for the discharge as well."""
    IN_A_NAME = "in a name"
    """Of a clinic, a nurse, a plan: The Diabetes Service."""
    NO_ALLERGY = "no allergy"
    """The allergy itself is denied; that a substance must not be given denies nothing."""
    UNCLEAR = "unclear"
    """Nothing takes it back, and nothing says it in earnest: a person must look."""


RELATIVE = (
    r"(?:(?:grand|step|half-?|god)?-?(?:mother|father|mum|mom|dad|brother|sister|son|daughter|parents?|child(?:ren)?)"
    r"(?:-in-law)?(?<!\bchild)|nan|nana|gran|granny|grandpa|aunt(?:ie)?|uncle|cousins?|wife|husband|spouse|partner"
    r"|fianc[ée]e?|boyfriend|girlfriend|siblings?|relatives?|family members?|twin|niece|nephew|in-laws?|kin"
    r"|donor|neighbou?r|flatmate|housemate|colleague|carer|caregiver)s?"
)
_FAMILY = rf"{RELATIVE}|family history|familial|fhx?|maternal|paternal|mat\.|pat\."
# A full stop inside a figure ends nothing.
_ON = r"(?:[^.;]|\.(?=\d))"
# "came in with his father because of": the father is company, and nothing is said of him.
COMPANY = re.compile(
    rf"(?i)\b(?:with|by)\s+(?:his|her|their|both)\s+(?:\w+\s+)?{RELATIVE}\b(?!['’]|,?\s+(?:who|whose|has|had|is|was|also))"
)
_STOPPED = (
    r"ceased|stopped|discontinued|d/c(?:['’]?d)?|dc['’]d|withheld|with-held|suspended|paused|omitted"
    r"|removed|deprescribed"
    r"|weaned|resolved|outgrown|outgrew|gr[eo]wn? out of|abandoned|de-?labell?ed|finished|completed"
    r"|expired|inactive|no longer|on hold|(?<!well )held(?! on\b| by\b| with\b)|ended"
)
_NOT_TAKEN = (
    r"(?:not|never|isn['’]t|hasn['’]t been|doesn['’]t|didn['’]t|won['’]t)\s+(?:\w+\s+)?"
    r"(?:take[ns]?|taking|use|used|using|given|giving|started|tolerated|filled|needed|required|indicated|prescribed"
    r"|recommended|suitable|advised)"
)

BREAKS = re.compile(r"(?i)[;]|\bbut\b|\bhowever\b|\balthough\b|\bexcept\b|\bapart from\b|\bother than\b")
ANSWERED = re.compile(r"(?i):\s*(?:yes|no|nil|none|y|n)\b")
"""The answer of a form ends what it answers: Asthma: No  Gout: Yes."""
# "took it last spring but no longer does" takes back what stands before the break.
BUT_ENDED = re.compile(
    r"(?i)\b(?:but|however|although|and)\b(?:\s+(?:he|she|they|it|has|have|had|was|since|now)){0,3}"
    r"\s+(?:no longer|stopped|ceased|finished|completed|come off)\b"
)
# "amlodipine was stopped and perindopril begun", "replaced amlodipine with": what stands behind is not what ended.
ENDED_OTHER = re.compile(
    rf"(?i)^.*(?:\b(?:was|were|has been|have been|is|are)\s+(?:\w+\s+)?(?:{_STOPPED})\b{_ON}*?\band\b"
    r"|\b(?:replac|swapp|switch|chang|substitut)\w*\b.*\b(?:with|by|to|for)(?=\s*$))"
)

BEFORE = {
    Context.DENIED: re.compile(
        r"(?i)\b(?:no|not|nor|neither|denies|denied|denying|without|nil|never|negative for|no known|avoid|avoiding"
        r"|absence of|free of|ruled out|excluded|excludes|do not|don['’]t|isn['’]t|wasn['’]t|contraindicated"
        r"|refus\w+|declin\w+)\b|(?:\[\s*\]|☐|□)\s*$"
    ),
    Context.OTHER_PERSON: re.compile(rf"(?i)\b(?:{_FAMILY})(?!\w)"),
    Context.ENDED: re.compile(
        rf"(?i)\b(?:{_STOPPED}|stopping|ceas(?:e|ing)|stop|previous|previously|prior|formerly"
        r"|(?:past|old) medi(?:cation|cine)s?|was on|were on|was taking|used to|came off|come off|coming off|weaned off"
        r"|been off|is off"
        r"|former|withhold\w*|hold|holding|suspend\w*|historical|took|taken off|(?:took|taking) (?:him|her|them) off"
        r"|was treated with|were treated with|had been (?:on|taking)|replac\w+|in place of|instead of|rather than"
        r"|switch\w* from|chang\w* from|swapp\w+|substitut\w+)\b"
    ),
    Context.PLANNED: re.compile(
        r"(?i)(?:\b(?:consider|considering|considered|consideration of|might|may need|may benefit|could|would"
        r"|suggest\w*|recommend\w*|propos\w+|plan(?:ned|ning)? to|suspected|suspicion of|suspicious for|possible"
        r"|possibly|probable|probably|likely|presumed|differential|ddx|query|queried|rule out|exclude|r/o"
        r"|risk of|risk for|screen(?:ing|ed)? for|test(?:ed|ing)? for|investigat\w+ for|if(?! (?:needed|required"
        r"|necessary))|discussed|discussion of|will (?:start|add|try|commence|need)|candidate for|concern\w* (?:for"
        r"|about|of)|worried about|vaccin\w+ (?:for|against)|immunis\w+ (?:for|against)|prevent\w*|prophyla\w+"
        r"|at risk)\b|\?\s*$)"
    ),
    Context.ALLERGY: re.compile(
        r"(?i)\b(?:allerg\w*|anaphyla\w*|intoleran\w*|adverse (?:drug )?reactions?|hypersensitiv\w*"
        r"|sensitivit\w*|reacts? to|adr|reaction to)\b"
    ),
}
_CLOSELY = r"^[\W]*(?:(?:\d\S*|[a-z]{1,6}\.?)\s+){0,2}?"
AFTER = {
    Context.DENIED: re.compile(
        r"(?i)^\W*(?:\w+\W+){0,3}?(?:(?:was|were|is|has been|have been)\s+)?"
        r"(?:ruled out|excluded|not (?:found|seen|present|identified|detected|confirmed|indicated)"
        r"|absent|unlikely|negative|contraindicated)\b"
        rf"|^{_ON}{{0,60}}?\bnot (?:found|seen|present|identified|detected|confirmed)\b"
        rf"|^{_ON}{{0,60}}?(?:\b{_NOT_TAKEN}|\b(?:must|should|do|does|can|may) not\b|\b(?:to be|be) avoided|\bavoid"
        r"|\bdeclin\w+|\brefus\w+|\bcontraindicated)\b|^\s*(?:\[\s*\]|☐|□)\s*(?:$|[.,;])"
    ),
    Context.OTHER_PERSON: re.compile(
        rf"(?i){_CLOSELY}\(?(?:(?:in|of|affecting|from|on|for)\s+)?(?:(?:his|her|their|your|both|the|a|an|one|two|all"
        r"|pts?|patient['’]?s?|several|multiple|elder|eldest|older|younger|late|deceased|first-degree|other)\s+)*"
        rf"(?:{_FAMILY})(?!\w)|^{_ON}{{0,40}}?(?:\((?:[\w'’.]+\s+){{0,2}}(?:{_FAMILY})(?!\w)"
        r"|\bin (?:the|his|her|their) family|\b(?:his|her|their|the) (?:mother|father)['’]s side)"
    ),
    Context.ENDED: re.compile(
        rf"(?i)^{_ON}{{0,60}}?(?:\b(?:{_STOPPED})\b|\b(?:old|previous|former|earlier) (?:dose|strength)"
        r"|\bended (?:in|on|\d{1,4})|\breplaced\b|\bin the past\b|\bas a child\b|\bthen (?:nil|cease|stop)"
        r"|\b(?:switched|swapped|changed|converted) (?:to|for)\s+(?!\d))"
    ),
    Context.PLANNED: re.compile(
        r"(?i)^\W*(?:\w+\W+){0,4}?(?:(?:is|are) (?:being |under )?(?:considered|consideration|planned|proposed)"
        r"|(?:may|might|could|will|would|should) be (?:added|started|considered|commenced|tried)"
        r"|to (?:be (?:started|commenced|added|considered)|start|commence)|(?:(?:was|were|is) )?(?:discussed"
        r"|suspected|queried|questioned)"
        r"|(?:is|was) (?:possible|likely|in question)|remains? (?:possible|in question))\b"
    ),
    Context.ALLERGY: re.compile(
        r"(?i)^\W*(?:\w+\W+){0,1}?(?:allergy|anaphylaxis|intolerance|hypersensitivity)\b"
    ),
}
NOT_ALLERGIC = re.compile(
    r"(?i)\b(?:no|not|nor|neither|nil|nka|nkda|denies|denied|denying|without|never|negative for|isn['’]t|wasn['’]t)\b"
    r"(?!\s+(?:to\s+)?(?:be\s+)?(?:give|take|use|prescribe|receive|have\s+more)\w*)"
)
ANSWERED_NO = re.compile(r"(?i)^[\s:=(\-–—]*(?:no|nil|none|n|neg|negative|denied|denies|absent)\b")
"""What a form answers beside a name: Diabetes: No."""
HEADS = {
    Context.DENIED: re.compile(r"(?i)\b(?:avoid|contraindicat\w*|do not|not to|negative|negatives)\b"),
    Context.OTHER_PERSON: BEFORE[Context.OTHER_PERSON],
    Context.ENDED: BEFORE[Context.ENDED],
    Context.PLANNED: re.compile(
        r"(?i)\b(?:differential\w*|proposed|planned|possible|considered|suspected)\b"
    ),
    Context.ALLERGY: BEFORE[Context.ALLERGY],
}
"""What a heading makes of everything that stands under it."""

NAMED = re.compile(
    r"(?i)^\s*(?:and\s+\w+\s+)?(?:service|clinic|centre|center|unit|department|nurse|educator|team"
    r"|society|foundation|program(?:me)?"
    r"|association|ward|institute|specialists?|australia|research|action plan|care plan|outreach|registry|group)\b"
)
ONCE = re.compile(
    r"(?i)\bstat\b|\b(?:single|loading) dose\b|\bonce\b(?! (?:daily|an?\b|per|every|each|weekly|monthly"
    r"|in|the|nightly))"
)
GIVEN_HEAD = re.compile(
    r"(?i)^\W*(?:given|administered)\b|\b(?:in (?:ed|theatre|hospital|recovery)|intra-?op\w*|stat)\b"
)
OPEN_HEAD = re.compile(r"(?i)\b(?:plan|recommendations?|advice|options?|suggestions?|actions?)\b")
"""Under such a heading stands what shall be done; it must be said in earnest."""
ADMISSION = re.compile(r"(?i)\b(?:(?:on|at|prior to|before|pre)[ -]admission|home medi\w+)\b")
DISCHARGE = re.compile(r"(?i)\bdischarge[d]?\b")
REACTED = re.compile(
    r"(?i)\b(?:rash|hives|urticaria|swelling|angioedema|reaction|itch\w*|vomiting|nausea|bronchospasm|collapse)\s+"
    r"(?:\w+\s+){0,3}?(?:on|with|to|from|after|following|due to|caused by)\b"
)
REACTS = re.compile(
    r"(?i)\b(?:g[ai]ves?|caus(?:es|ed|ing)|ma(?:kes|de)|br(?:ings|ought)|led to|result(?:s"
    r"|ed) in)\s+(?:(?:him|her|them|a|an"
    r"|the|out|in|severe|mild|marked)\s+)*(?:rash|hives|urticaria|swelling|angioedema|reaction|itch\w*|vomiting|nausea"
    r"|anaphyla\w+|bronchospasm|collapse|cough|diarrhoea|unwell|ill|sick)|(?:→|->|—>)\s*(?:rash|hives|anaphyla\w+)"
)
IN_EARNEST = re.compile(
    r"(?i)\b(?:takes?|taking|on|uses?|using|continu\w+|remains?|maintained|stays?|kept|commenc\w+|start\w*|begun|began"
    r"|initiated|introduced|added|adding|prescri\w+|medi(?:cation|cine)s?|meds|tablets?|capsules?|drugs?|treatment"
    r"|therapy|treated|managed|controlled|current\w*|regular\w*|increas\w+|reduc\w+|decreas\w+|titrat\w+|dose[sd]?"
    r"|now|usual\w*|with|receiv(?:es|ing)|has|have|having|inhaler|inhales|injects?|appl(?:y|ies)|supplements?|script|rx"
    r"|includ\w+|are|is|daily|via|give|given|prn)\b"
)
"""Words that say of a medicine that it is taken."""
STATED = re.compile(
    r"(?i)\b(?:takes?|taken|continu\w+|remains?|maintained|commenc\w+|start(?:ed|s)?|begun|initiated|introduced|added"
    r"|prescribed|increased|reduced|decreased|titrated|tapered|lowered|raised|adjusted|helps?|controls?"
    r"|works?|is (?:her|his|their|the) )\b"
)
VERB = re.compile(r"(?i)\b(?:is|was|were|has|had|have|been|did|does|can|will|be|if)\b")
DOUBTS_ALLERGY = re.compile(
    r"(?i)\b(?:disprov\w+|refut\w+|debunk\w*|de-?label\w*|tolerat\w+|challenge\w*|tested|testing|cleared|historic\w*"
    r"|unlikely|question\w*|doubt\w*|vague|uncertain|unclear|unsure|perhaps|supposed\w*|alleged\w*|unconfirmed"
    r"|side[- ]effects?)\b"
)
IS_A_PERSON = re.compile(rf"(?i)(?:{_FAMILY}|family)")
PRONOUN = re.compile(r"^(?P<who>He|She|They|His|Her|Their)\b")
ANYBODY = r"partner|spouse|twin|cousin|sibling|carer|parents|siblings|children"
_SHE = (
    r"mother|mum|mom|sister|daughter|aunt(?:ie)?|grandmother|wife|niece|nan|nana|gran|granny|girlfriend"
    r"|mother-in-law|sister-in-law|daughter-in-law"
)
_HE = (
    r"father|dad|brother|son|uncle|grandfather|husband|nephew|grandpa|boyfriend|father-in-law|brother-in-law"
    r"|son-in-law"
)
MEANT = {"She": _SHE, "Her": _SHE, "He": _HE, "His": _HE, "They": RELATIVE, "Their": RELATIVE}
"""Whom a pronoun can mean, if one of them was spoken of."""
