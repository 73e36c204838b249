"""Paper 004 §5 repeated: inexact interior point against projected Gauß–Jacobi on two piles of spheres.

    python benchmarks/paper_004.py [--quick] [--out FOLDER] [--piles FOLDER]

Prints each finding beside the paper's and draws figures 8 to 11. Times are seconds of processor of one thread, so that
a busy machine does not matter much; iterates are judged outside the clock. --quick takes piles of 512 and 2 048 spheres.
The material of the contacts' stiffness (004 eq. 33) is quartz; the paper does not name its own.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))

from paper_004_piles import STEP, pile_of  # noqa: E402
from paper_004_spectrum import spectrum  # noqa: E402

YOUNG, POISSON = 7e10, 0.17  # [Pa], [-]: quartz
GOAL = 1e-3  # error of 004 §5.2.4
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
PGJ_SHARE = 6.0  # PGJ is given this many times the interior point's time: enough to refute or confirm a fifth


@dataclass
class Run:
    """What one method did.  krylov: products so far."""

    name: str
    iteration: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    krylov: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)

    def first_below(self, goal: float) -> int | None:
        return next((i for i, error in enumerate(self.error) if error <= goal), None)

    def line(self, goal: float = GOAL) -> str:
        i = self.first_below(goal)
        if i is None:
            return (
                f"{self.name:34s} not reached: error {min(self.error):.1e} after {self.iteration[-1]:6d} iterations, "
                f"{self.krylov[-1]:6.0f} products, {self.seconds[-1]:7.2f} s"
            )
        return (
            f"{self.name:34s} {self.iteration[i]:6d} iterations, {self.krylov[i]:6.0f} products, "
            f"{self.seconds[i]:7.2f} s"
        )


def run(name, problem, solver, *, goal=GOAL, iterations=100, seconds=120.0, batch=1) -> Run:
    """Advance a method until its error is below the goal."""
    from delassus import residuals
    from delassus.solvers.table import find

    line, settings = find(solver)
    out = Run(name)
    begin = time.process_time()
    method = line.start(problem, settings, np.zeros(problem.row_count))
    spent, done = time.process_time() - begin, 0
    while done < iterations and spent < seconds and not method.finished:
        begin = time.process_time()
        method.advance(batch)
        spent += time.process_time() - begin
        done += batch
        judged = residuals.evaluate(problem, method.reactions)
        out.iteration.append(done)
        out.seconds.append(spent)
        out.krylov.append(float(np.nansum(getattr(method, "details", {}).get("krylov", [0.0]))))
        out.error.append(judged.error)
        out.cost.append(judged.cost)
        if judged.error <= goal:
            break
        batch = batch if batch == 1 else max(batch, done // 20)
    return out


def settings_of(radii, **changes):
    """`ipm-inexact` as 004 ran it, with the stiffness of these contacts."""
    from delassus.solvers.ipm_inexact.regularisation import contact_stiffness
    from delassus.solvers.table import SOLVERS

    stiffness = tuple((STEP**2 * contact_stiffness(YOUNG, radii)).tolist())
    return SOLVERS["ipm-inexact"].settings.changed(stiffness=stiffness, poisson=POISSON, **changes)


def against_pgj(problem, radii, label: str) -> list[Run]:
    """Figure 11 (a)."""
    from delassus.solvers.table import SOLVERS

    print(f"\n{label}: time to error {GOAL:g}")
    runs = [run("ipm-inexact, IC(0) BiCGstab (004)", problem, settings_of(radii))]
    print(runs[0].line(), flush=True)
    body = {"space": "body", "linear": "cg", "strategy": "adaptive"}
    runs.append(run("ipm-inexact, bodies, IC(0) CG", problem, settings_of(radii, **body)))
    print(runs[-1].line(), flush=True)
    runs.append(run("ipm-inexact, bodies, Jacobi CG", problem, settings_of(radii, **body, preconditioner="jacobi")))
    print(runs[-1].line(), flush=True)
    if "ipm" in SOLVERS:
        runs.append(run("ipm (direct, between bodies)", problem, "ipm"))
        print(runs[-1].line(), flush=True)
    own = runs[0].seconds[-1]
    runs.append(run("jacobi (PGJ)", problem, "jacobi", iterations=10**7, seconds=PGJ_SHARE * own, batch=100))
    pgj = runs[-1]
    print(pgj.line(), flush=True)
    reached = pgj.first_below(GOAL) is not None
    for other in runs[:-1]:
        if other.first_below(GOAL) is not None:
            ratio = other.seconds[-1] / pgj.seconds[-1]
            print(f"  {other.name}: {'' if reached else 'less than '}{ratio:.3f} of PGJ's time")
    return runs


def direct_iterations(piles) -> dict[str, list[Run]]:
    """Figures 11 (b) and 10 (a): outer iterations with exact directions."""
    print(f"\nOuter iterations with a direct solver, to errors {', '.join(f'{level:g}' for level in LEVELS)}")
    out = {}
    for strategy in ("path-following", "potential-reduction"):
        runs = []
        for label, (problem, radii) in piles.items():
            changes = {"space": "body", "linear": "direct", "strategy": strategy}
            one = run(label, problem, settings_of(radii, **changes), goal=LEVELS[-1], iterations=70)
            below = [one.first_below(level) for level in LEVELS]
            counts = ["  –" if i is None else f"{one.iteration[i]:3d}" for i in below]
            print(f"{strategy:20s} {label:28s} {' '.join(counts)}", flush=True)
            runs.append(one)
        out[strategy] = runs
    return out


def krylov_methods(problem, radii) -> list[Run]:
    """Figure 9, and 10 (b)."""
    print("\nKrylov methods on the first pile, to error 1e-4")
    runs = []
    for name, changes in {
        "BiCGstab, IC(0)": {},
        "CG, IC(0)": {"linear": "cg"},
        "GMRES, IC(0)": {"linear": "gmres"},
        "CG, none": {"linear": "cg", "preconditioner": "none"},
        "BiCGstab, ILU(0)": {"preconditioner": "ilu0"},
        "BiCGstab, IC(0), potential-red.": {"strategy": "potential-reduction"},
    }.items():
        runs.append(run(name, problem, settings_of(radii, **changes), goal=1e-4, iterations=45, seconds=25.0))
        print(runs[-1].line(1e-4), flush=True)
    return runs


def eigenvalues(problem, radii, iterations: int, every: int):
    """Figure 8."""
    print("\nRange of eigenvalues over the iterations (figure 8)")
    rows = spectrum(problem, settings_of(radii), iterations, every)
    names = ["plain", "regularised", "ic0", "ilu0"]
    print(f"{'iteration':>9s} " + " ".join(f"{name:>22s}" for name in names))
    for k in sorted({row[0] for row in rows}):
        cells = []
        for name in names:
            _, _, low, high, indefinite = next(row for row in rows if row[0] == k and row[1] == name)
            cells.append(f"{low:9.1e} … {high:7.1e}{'*' if indefinite else ' '}")
        print(f"{k:9d} " + " ".join(f"{cell:>22s}" for cell in cells))
    print("  * indefinite preconditioner")
    return rows


def draw(folder: Path, figure11, direct, krylov, rows) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for label, runs in figure11.items():
        for one in runs:
            axes[0].loglog(one.seconds, one.error, label=f"{one.name}, {label}")
    for strategy, runs in direct.items():
        for one in runs:
            axes[1].semilogy(one.iteration, one.error, label=f"{strategy}, {one.name}")
    axes[0].set(xlabel="processor time [s]", ylabel="error (004 §5.2.4)", title="Figure 11 (a)")
    axes[1].set(xlabel="outer iterations, direct solver", title="Figures 11 (b), 10 (a)")
    for ax in axes:
        ax.legend(fontsize=6)
    _save(figure, folder / "paper-004-figure-11.png")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for one in krylov:
        axes[0].semilogy(one.krylov, np.maximum(one.cost, 1e-16), label=one.name)
        axes[1].semilogy(one.seconds, np.maximum(one.cost, 1e-16), label=one.name)
    axes[0].set(xlabel="products with the matrix", ylabel="cost (004 §5.2.2) [J]", title="Figure 9 (a)")
    axes[1].set(xlabel="processor time [s]", title="Figures 9 (b), 10 (b)")
    for ax in axes:
        ax.legend(fontsize=7)
    _save(figure, folder / "paper-004-figure-9.png")
    figure, ax = plt.subplots(figsize=(7, 4.5))
    for name, colour in (("plain", "C3"), ("regularised", "C1"), ("ic0", "C0"), ("ilu0", "C2")):
        own = np.array([(row[0], row[2], row[3]) for row in rows if row[1] == name])
        ax.semilogy(own[:, 0], own[:, 1], colour, label=name)
        ax.semilogy(own[:, 0], own[:, 2], colour)
        ax.fill_between(own[:, 0], own[:, 1], own[:, 2], color=colour, alpha=0.1)
    ax.set(xlabel="iteration", ylabel="eigenvalues: smallest and largest", title="Figure 8")
    ax.legend()
    _save(figure, folder / "paper-004-figure-8.png")


def _save(figure, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def compile_everything() -> None:
    """A few iterations of all on a small pile, so that no clock sees the compiler."""
    problem, radii = pile_of(512)
    for changes in (
        {}, {"linear": "gmres"}, {"linear": "cg", "preconditioner": "none"}, {"preconditioner": "ilu0"},
        {"space": "body", "linear": "cg", "strategy": "adaptive"}, {"space": "body", "linear": "direct"},
        {"space": "body", "linear": "cg", "preconditioner": "jacobi"},
    ):  # fmt: skip
        run("", problem, settings_of(radii, **changes), iterations=3)
    run("", problem, "jacobi", iterations=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="piles of 512 and 2 048 spheres")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()), help="folder for the figures")
    parser.add_argument("--piles", type=Path, default=None, help="folder where piles are kept")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    piles = {}
    for count in (512, 2048) if options.quick else (2048, 5040):
        problem, radii = pile_of(count, options.piles)
        piles[f"{count} spheres"] = problem, radii
        print(f"{count} spheres, {problem.contact_count} potential contacts")
    print("004: 2048 spheres with 8378, 5040 with 21052 potential contacts")
    compile_everything()
    figure11 = {label: against_pgj(*pile, label) for label, pile in piles.items()}
    print("004, 5040 spheres: PGJ 43000 iterations; IC(0) BiCGstab 2545, a little more than a fifth of PGJ's time")
    direct = direct_iterations(piles)
    print("004 §5.2.4: nearly the same number for both sizes")
    first = next(iter(piles.values()))
    krylov = krylov_methods(*first)
    print("004 §5.2.2: BiCGstab needs the fewest; CG without preconditioner will do for low accuracy; ILU(0) fails")
    rows = eigenvalues(*first, iterations=21 if options.quick else 41, every=4)
    print(
        "004 §5.2.1: without R the condition grows quadratically as τ falls; R bounds the smallest eigenvalue; IC(0)\n"
        "narrows the range at first and little near the solution; ILU(0) is indefinite from the 10th iteration on"
    )
    draw(options.out, figure11, direct, krylov, rows)


if __name__ == "__main__":
    main()
