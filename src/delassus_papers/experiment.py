"""What an experiment is, and how it is carried out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from delassus.bench.benchmark import machine
from delassus.errors import SettingsError
from delassus_papers.claim import Claim, Fact, Found, NotTested, line
from delassus_papers.outcome import Outcome, Picture, claimed, store, today


@dataclass(frozen=True)
class Findings:
    """What `measure` returns: something for every claim by key, facts, pictures (files in the folder it was given)."""

    found: dict[str, Found | NotTested]
    facts: list[Fact] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """papers: keys of `PAPERS`, the one whose claims these are first. shows: tables and figures it rebuilds, as named
    in the paper's list of results; of another paper than the first as "key: Table 1". measure: (folder for pictures,
    quick) → Findings."""

    name: str
    papers: tuple[str, ...]
    title: str
    shows: tuple[str, ...]
    claims: tuple[Claim, ...]
    measure: Callable[[Path, bool], Findings]

    def carry_out(self, folder: Path, quick: bool) -> Outcome:
        """Run it, judge its claims, and store what came out in the folder."""
        with claimed(folder, self.name):
            start = perf_counter()
            findings = self.measure(folder, quick)
            outcome = self.judged(findings, quick, perf_counter() - start)
            store(outcome, folder)
        return outcome

    def judged(self, findings: Findings, quick: bool, seconds: float) -> Outcome:
        """Every claim with its verdict."""
        keys = [claim.key for claim in self.claims]
        if set(keys) != set(findings.found):
            odd = sorted(set(keys) ^ set(findings.found))
            raise SettingsError(f"{self.name}: claims and findings differ in {', '.join(odd)}: find something for each")
        lines = [line(claim, findings.found[claim.key], self.papers[0]) for claim in self.claims]
        return Outcome(self.name, quick, today(), seconds, machine(), lines, findings.facts, findings.pictures)
