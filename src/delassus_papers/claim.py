"""A claim of a paper, what was found, and the line they become."""

from dataclasses import dataclass
from typing import Any

from delassus_papers.criterion import AGREES, NOT_TESTED, Criterion

UNEXPLAINED = "unexplained"
IN_WORDS = "in words only"
BESIDE = "agrees; beside it: "


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper. key: its name within the experiment; place: "Table 5.3", "figure 9", "§4.5"; says: the
    sentence, shortened; quantity: what is measured; paper: the key of another paper than the experiment's first one;
    changed: date and reason, where the criterion was changed after a run."""

    key: str
    place: str
    says: str
    quantity: str
    criterion: Criterion
    paper: str = ""
    changed: str = ""


@dataclass(frozen=True)
class Found:
    """What came out. published: the paper's method with the paper's settings, which the claim is judged by; ours: our
    best, beside it. why: the suspected cause of a difference; evidence: what was measured with that cause switched
    off. A difference without evidence is called unexplained."""

    published: Any
    ours: Any = None
    why: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class NotTested:
    """A claim that this run cannot test, and why."""

    why: str


@dataclass(frozen=True)
class Line:
    """A claim beside what was found, in words, as it is printed and stored."""

    key: str
    paper: str
    place: str
    says: str
    quantity: str
    printed: str
    published: str
    ours: str
    verdict: str
    criterion: str
    why: str = ""


@dataclass(frozen=True)
class Fact:
    """A number with nothing to hold it against, or the settings and sizes a reader needs: for the reader's eye."""

    what: str
    paper: str = "–"
    published: str = "–"
    ours: str = "–"


def line(claim: Claim, found: Found | NotTested, paper: str) -> Line:
    """The judgement. paper: key of the experiment's first paper."""
    criterion = claim.criterion
    words = criterion.words + (f" (changed {claim.changed})" if claim.changed else "")
    printed = IN_WORDS if getattr(criterion, "in_words", False) else criterion.shown(criterion.printed)
    told = claim.key, claim.paper or paper, claim.place, claim.says, claim.quantity, printed
    if isinstance(found, NotTested):
        return Line(*told, "–", "–", NOT_TESTED, words, found.why)
    verdict = criterion.judge(found.published)
    ours = "–" if found.ours is None else criterion.shown(found.ours)
    return Line(*told, criterion.shown(found.published), ours, verdict, words, _reason(found, verdict == AGREES))


def _reason(found: Found, agrees: bool) -> str:
    """The explanation of a difference; beside an agreement the same words are no more than a remark."""
    told = f"{found.why}; measured: {found.evidence}" if found.evidence else found.why
    if agrees:
        return f"{BESIDE}{told}" if told else ""
    if found.evidence:
        return told
    return f"{UNEXPLAINED}; suspected: {told}" if told else UNEXPLAINED
