"""What is passed in the place of a sound value: Hypothesis chooses."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 0.0, -0.0, 1e-320, 1e-300, 1e300, 1e308, float("nan"), float("inf"), -float("inf")]),
    st.sampled_from([10**400, -(10**400), 2**63, 3.7, 1j, True, False, np.float32(0.5), np.int8(3)]),
    st.floats(width=64),
    st.integers(-3, 40),
)
WORDS = st.one_of(
    st.sampled_from(["", "arm", "nbgs", "\x1b[2J", "a" * 5000, "a\0b", "1.5", "\ud800"]), st.text(max_size=8)
)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
KINDS = st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16", "U3", "O"])


@st.composite
def odd_arrays(draw):
    """Arrays of any shape and kind, some with a mask, some in another order."""
    shape, kind = draw(SHAPES), draw(KINDS)
    if kind == "O":
        found = np.full(shape, draw(st.sampled_from([None, "1", 1, 1.5])), object)
    elif kind == "U3":
        found = np.full(shape, "1.5")
    else:
        found = np.full(shape, draw(st.sampled_from([0, 1, 1, 3]))).astype(kind)
        if kind == "f8" and found.size and draw(st.booleans()):
            found.flat[draw(st.integers(0, found.size - 1))] = draw(
                st.sampled_from([np.nan, np.inf, 1e308, -1.0, 1e-320])
            )
    way = draw(st.integers(0, 5))
    return (
        np.ma.array(found, mask=np.ones(shape, bool)) if way == 0 else np.asfortranarray(found) if way == 1 else found
    )


PLAIN = st.one_of(st.none(), NUMBERS, WORDS, odd_arrays(), st.binary(max_size=3))
ODD = st.one_of(
    PLAIN,
    st.lists(PLAIN, max_size=4),
    st.tuples(PLAIN, PLAIN),
    st.dictionaries(WORDS, PLAIN, max_size=2),
    st.just(object()),
    st.just(lambda *_: None),
    st.just(3),
    st.just(print),
)
