"""Write docs/known-answers.md: every scenario of tests/reference/known_answers.py, what is expected and what was seen.

    python docs/write_known_answers.py

The order of convergence compares errors at a time step and at half of it; a dash stands where the answer is right to
1e-8 already, or is yes or no."""

import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "reference"))

EXACT = 1e-8  # errors below are what solving to 1e-6 of h g leaves, and rounding

HEAD = """# Known answers

Scenarios whose answers stand in textbooks, run through `World` with default settings but the time step. Written by
`docs/write_known_answers.py`; `tests/reference/test_known_answers.py` (slow) holds each to its tolerance.
Errors are relative where the answer is not zero.

| field | scenario | h [ms] | expected | seen | error | order |
|---|---|---|---|---|---|---|
"""


def order(scenario, error: float) -> str:
    """Of convergence, from half the time step."""
    if error <= EXACT or scenario.tol == 0.0:
        return "–"
    finer = scenario.error(0.5 * scenario.h)[2]
    return f"{math.log2(error / finer):.1f}" if finer > 0.0 else "–"


def main() -> None:
    """Run everything and write the page."""
    from known_answers import SCENARIOS

    lines = []
    for scenario in SCENARIOS:
        seen, expected, error = scenario.error(scenario.h)
        assert error <= scenario.tol, scenario.name
        numbers = f"{1e3 * scenario.h:g} | {expected:.9g} | {seen:.9g} | {error:.1e} | {order(scenario, error)}"
        name = scenario.name.replace("|", "\\|")
        lines.append(f"| {scenario.field} | {name} | {numbers} |")
    (HERE / "known-answers.md").write_text(HEAD + "\n".join(lines) + "\n")
    print(f"{len(lines)} scenarios")


if __name__ == "__main__":
    main()
