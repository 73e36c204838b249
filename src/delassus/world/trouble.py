"""What went wrong in the steps of a run: each kind of sentence once, with the step that said it first."""

import re

from delassus.simulation import StepReport

_MOST_KINDS = 5  # of sentences that are told


class Trouble:
    """steps: how many were looked at; not_converged, suspicious: how many of them were so."""

    def __init__(self) -> None:
        self.steps = self.not_converged = self.suspicious = 0
        self.first: dict[str, tuple[int, str]] = {}
        self.count: dict[str, int] = {}

    def look(self, k: int, report: StepReport) -> None:
        """k: number of the step."""
        self.steps += 1
        if report.ok:
            return
        if not report.solution.converged:
            self.not_converged += 1
            self._note(k, f"not converged ({report.solution.status.value}): {report.solution.status.advice}")
        if report.warnings:
            self.suspicious += 1
            for text in report.warnings:
                self._note(k, text)

    def _note(self, k: int, text: str) -> None:
        kind = re.sub(r"[0-9][0-9.e+-]*", "", text)
        self.first.setdefault(kind, (k, text))
        self.count[kind] = self.count.get(kind, 0) + 1

    @property
    def ok(self) -> bool:
        """Did every step converge and make sense?"""
        return not self.first

    @property
    def texts(self) -> list[str]:
        """A line per kind, the most frequent first."""
        often = sorted(self.first, key=lambda kind: -self.count[kind])
        lines = [
            f"{self.count[kind]} steps, first step {self.first[kind][0]}: {self.first[kind][1]}"
            for kind in often[:_MOST_KINDS]
        ]
        more = len(often) - _MOST_KINDS
        return lines + ([f"and {more} other warnings"] if more > 0 else [])
