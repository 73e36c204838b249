"""Does an installed delassus work? Uses only what is installed: run it with `python -I`, from any folder.

Files of the package, version, one solve through Python (its kernels are compiled on the way), four commands."""

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import delassus


def main() -> None:
    """Raises where something is not as it should be."""
    package = files("delassus")
    assert str(package).startswith(sys.prefix), f"{package} is not the installed package"
    assert (package / "py.typed").is_file(), "type checkers ignore the annotations of a package without py.typed"
    assert version("delassus") == delassus.__version__

    problem = delassus.Problem.dual([[2, 0, 0], [0, 2, 0], [0, 0, 2]], [-1, 0.1, 0], mu=[0.5])
    solution = delassus.solve(problem, "nbgs", tol=1e-8)
    assert solution.status is delassus.Status.CONVERGED
    assert abs(solution.reactions[0] - 0.5) < 1e-7  # D₁₁ λ₁ = 1

    assert command("--version").strip() == f"delassus {delassus.__version__}"
    assert "nbgs" in command("solvers")
    assert "ipm-mangoni" in command("solvers")  # of delassus_papers, which comes in the same wheel
    assert "table-ii" in command("reproduce")
    assert "bouncing-ball" in command("scenes")
    print("installed package works:", package)


def command(*words: str) -> str:
    """What `delassus …` prints."""
    done = subprocess.run([sys.executable, "-I", "-m", "delassus", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"delassus {' '.join(words)} failed: {done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main()
