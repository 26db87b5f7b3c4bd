"""One verdict about everything, and where each of its reasons leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from backstay.client.doctor.findings import Finding, Severity
from backstay.kit.values import Tone
from backstay.kit.words import count_of

Word = Literal["well", "attention", "broken"]

TITLES: dict[Word, str] = {
    "well": "All is well",
    "attention": "Somebody should look",
    "broken": "Something is broken",
}
TONES: dict[Word, Tone] = {"well": "good", "attention": "warn", "broken": "bad"}
WORST_FIRST: tuple[Tone, ...] = ("bad", "warn", "info")
SEVERITY_TONES: dict[Severity, Tone] = {
    Severity.ERROR: "bad",
    Severity.WARNING: "warn",
    Severity.INFO: "info",
}

PLACES = {
    "no_workers": ("/workers", "Workers"),
    "kind_without_worker": ("/workers", "Workers"),
    "queue_without_worker": ("/queues", "Queues"),
    "paused_jobs": ("/queues", "Queues"),
    "misfit_jobs": ("/jobs?state=held", "Held jobs"),
    "schedule_without_success": ("/schedules", "Schedules"),
    "long_wait": ("/jobs?state=available", "Waiting jobs"),
    "stuck_claims": ("/jobs?state=running", "Running jobs"),
    "dead_letters": ("/dead-letters", "Dead letters"),
    "tainted_worker": ("/workers", "Workers"),
    "mixed_versions": ("/workers", "Workers"),
    "unexpanded_worker_id": ("/workers", "Workers"),
    "overrides": ("/system", "System"),
    "override_ignored": ("/system", "System"),
    "kind_conflict": ("/system", "System"),
}
ELSEWHERE = ("/system", "System")


@dataclass(frozen=True)
class Reason:
    """One finding, and the page that shows more of it."""

    title: str
    detail: str
    advice: str
    tone: Tone
    code: str
    href: str
    place: str


@dataclass(frozen=True)
class Verdict:
    """Whether all is well, and why not."""

    word: Word
    reasons: Sequence[Reason]

    @property
    def title(self) -> str:
        return TITLES[self.word]

    @property
    def tone(self) -> Tone:
        return TONES[self.word]

    @property
    def summary(self) -> str:
        """One line below the title."""
        if not self.reasons:
            return "Nothing keeps a job from running."
        serious = [reason for reason in self.reasons if reason.tone in {"bad", "warn"}]
        if not serious:
            return "Nothing keeps a job from running; a few things are good to know."
        told = "One reason" if len(serious) == 1 else f"{len(serious)} reasons, the worst first"
        others = len(self.reasons) - len(serious)
        return told + (f"; {count_of(others, 'more thing')} good to know" if others else "") + "."


def verdict_of(findings: Sequence[Finding], others: Sequence[Reason] = ()) -> Verdict:
    """Return the verdict for what the doctor found and for reasons that others saw, the worst first."""
    reasons = sorted([*map(_reason, findings), *others], key=lambda reason: WORST_FIRST.index(reason.tone))
    tones = {reason.tone for reason in reasons}
    word: Word = "broken" if "bad" in tones else "attention" if "warn" in tones else "well"
    return Verdict(word, reasons)


def _reason(finding: Finding) -> Reason:
    href, place = PLACES.get(finding.code, ELSEWHERE)
    return Reason(
        title=finding.title[:1].upper() + finding.title[1:],
        detail=finding.detail,
        advice=finding.advice,
        tone=SEVERITY_TONES[finding.severity],
        code=finding.code,
        href=href,
        place=place,
    )
