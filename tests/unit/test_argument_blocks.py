"""Arguments that compiled code finds at an address."""

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.kernel.argument_blocks import ArgumentBlock, caller, contents
from delassus.kernel.memory import NO_REFCOUNT


@njit(error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def add(held, others, count):
    """numbers += count × factor × what is behind them, in place; how many."""
    (numbers, (factor, whole)), (behind,) = contents(held), contents(others)
    for i in range(len(numbers)):
        numbers[i] += count * factor * behind[i, i] + whole
    return np.int64(len(numbers))


def test_compiled_code_reads_and_writes_the_arrays_that_are_held():
    numbers, behind = np.zeros(3), np.diag([1.0, 2.0, 3.0])
    held, others = ArgumentBlock((numbers, (2.0, 0))), ArgumentBlock((behind,))
    call = caller(add, held, others)
    assert call(held.address, others.address, 5) == 3
    assert numbers.tolist() == [10.0, 20.0, 30.0]
    behind *= 0.1  # in place: the same array
    assert call(held.address, others.address, 5) == 3
    assert np.allclose(numbers, [11.0, 22.0, 33.0])


def test_others_of_the_same_types_take_their_place():
    first, second, unit = np.zeros(2), np.zeros(4), np.eye(4)
    held, others = ArgumentBlock((first, (1.0, 7))), ArgumentBlock((unit,))
    call = caller(add, held, others)
    held.put((second, (3.0, 1)))
    del unit  # what is held is kept alive
    assert call(held.address, others.address, 2) == 4
    assert second.tolist() == [7.0] * 4
    assert not first.any()
