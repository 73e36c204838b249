"""Tsounis et al. 2025, §VIII: the solvers over the suite, by category. Ours are the paper's methods on our open
stand-ins: times are not comparable, the order and who fails where are."""

from dataclasses import replace
from pathlib import Path

from delassus.bench.benchmark import Benchmark, BenchmarkSettings
from delassus.bench.figures import write_profile_png
from delassus.bench.metrics import scores
from delassus.bench.report import write_report
from delassus.bench.suites import SUITES
from delassus.reproduce.old import Experiment, Line, Outcome

SOLVERS = (
    "pgs-ccp", "pgs-ncp", "nbgs", "raisim", "raisim-ds", "admm-ncp-fp", "admm-ncp-la", "admm-ncp-sa",
)  # fmt: skip
_LIMIT, _TOL = 2.0, 1e-6


def run(folder: Path, quick: bool) -> Outcome:
    suite = SUITES["quick" if quick else "all"]
    out = folder / f"comparison-{suite.name}"
    settings = BenchmarkSettings(replace(suite, solvers=SOLVERS), out, SOLVERS, _TOL, ("cold",), _LIMIT, 2)
    benchmark = Benchmark(settings)
    rows = benchmark.run()
    write_report(out, rows, benchmark.about())
    picture = folder / "comparison.png"
    write_profile_png(picture, rows, _LIMIT)
    by = {score.solver: score for score in scores(rows, _LIMIT)}
    looped = {
        s.solver: s
        for s in scores(
            [row for row in rows if "joints" in row.category or row.category == "dense constraints"], _LIMIT
        )
    }
    lines = [
        Line("spectral penalty against fixed, problems solved", "more", f"{by['admm-ncp-sa'].solved} against "
             f"{by['admm-ncp-fp'].solved}", by["admm-ncp-sa"].solved >= by["admm-ncp-fp"].solved, "at least as many"),
        Line("ADMM against splitting where joints couple, problems solved", "ADMM is more robust",
             f"admm-ncp-sa {looped['admm-ncp-sa'].solved}, nbgs {looped['nbgs'].solved}",
             looped["admm-ncp-sa"].solved >= looped["nbgs"].solved, "ADMM solves at least as many"),
        Line("De Saxcé's term in raisim, problems solved to 1e-6", "needed for the exact law",
             f"raisim-ds {by['raisim-ds'].solved}, raisim {by['raisim'].solved}",
             by["raisim-ds"].solved >= by["raisim"].solved, "raisim-ds solves at least as many"),
        Line("claims not confirmed by the judge", "–", str(sum(not row.confirmed for row in rows)),
             all(row.confirmed for row in rows), "none"),
    ]  # fmt: skip
    for score in by.values():
        lines.append(Line(f"{score.solver}: solved, mean", "–", f"{score.solved} / {score.count}, "
                          f"{1e3 * score.mean:.3g} ms", None))  # fmt: skip
    return Outcome(lines, [picture])


EXPERIMENT = Experiment("comparison", "Tsounis et al. 2025, §VIII", "The paper's solvers over the suite", run)
