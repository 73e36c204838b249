"""The way from a call to its number stays short: as many files as a reader can hold in mind."""

import pytest

from files_entered import count

# prox-ssn is sweeps, their acceleration, Newton and its factors in one compiled call: a file each. Of `run` one is the
# kernel that keeps a step in its recording, called by the columns and by the compiled step, which is a file of its own,
# and one writes the model beside the recording, which was not kept before. Sweeps on a few contacts in arrays of the
# caller (newton/swept) are a stage that there was not before, and the short way of `auto` to them (auto/short_way)
# is another file of `solve FILE`: a solve of one contact takes 6 µs instead of 16. So is the factor in full of a mass
# matrix of few velocities (linalg/factor/dense_factor), where it was SciPy's before: 44 µs instead of 192. Scratch on
# the stack and views that are no call (linalg/borrowed) are entered, too, where there was one dictionary: 6 µs → 2.3.
# What a problem's units follow from (problem/scales) was in problem/problem, which had grown too long.
MOST = {"nbgs": 10, "ipm": 13, "prox-ssn": 20, "solve FILE": 51, "run": 80}


@pytest.fixture(scope="module")
def found():
    return count()


@pytest.mark.parametrize("case", MOST)
def test_no_longer_than_it_was(found, case):
    assert len(found[case]) <= MOST[case], "\n".join(found[case])


def test_counts_see_what_is_entered(found):
    """The loop, the judge and the method are on the list: an empty one would be short, too."""
    assert {"solvers/driver.py", "residuals.py", "solvers/splitting/sweeps.py"} <= set(found["nbgs"])
    assert {"cli/main.py", "io/fclib/read.py", "residuals.py"} <= set(found["solve FILE"])
    assert {"simulation/one_step.py", "simulation/many_steps.py"} <= set(found["run"])
