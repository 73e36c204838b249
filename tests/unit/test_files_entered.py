"""Files entered are counted as they are; how many there are is printed by `tests/files_entered.py` and not asserted."""

import delassus
from files_entered import entered


def test_counts_see_what_is_entered():
    """The loop, the judge and the method are on the list, and control goes to and fro between them."""
    problem = delassus.Problem.dual([[2, 0, 0], [0, 2, 0], [0, 0, 2]], [-1, 0.1, 0], mu=[0.5])
    files, switches = entered(lambda: delassus.solve(problem, "nbgs"))
    assert {"solvers/driver.py", "residuals.py", "solvers/splitting/method.py"} <= set(files)
    assert switches >= len(files)


def test_a_call_that_leaves_the_package_alone_enters_nothing():
    assert entered(lambda: sorted([2, 1])) == ([], 0)
