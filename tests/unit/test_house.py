"""The counts of `tests/house.py` do not grow, and see what they count."""

import pytest

import house

CODE = """
from delassus.kernel import njit

@njit(cache=True)
def wide(a, b, c, d, e, f, g, h, i):
    t, u, v, w, x, y = a  # fmt: {skip}
    return t

class Thing:
    def narrow(self, a, b, c, d, e, f):
        return a if f.rigid is None else b
"""


@pytest.fixture(scope="module")
def found():
    return house.counts()


@pytest.mark.parametrize("name", [name for name in house.COUNTS if name not in house.PRINTED_ALONE])
def test_a_count_does_not_grow(found, name):
    assert found[name] <= house.bounds()[name], f"python tests/house.py {name} lists the places"


def test_counts_see_what_they_count(tmp_path):
    path = tmp_path / "src" / "delassus" / "new.py"
    path.parent.mkdir(parents=True)
    path.write_text(CODE.format(skip="skip"))
    seen = house.counts(tmp_path)
    assert seen == {
        "kernels_over_8": 1,
        "kernels_over_12": 0,
        "functions_over_6": 1,
        "long_unpackings": 1,
        "fmt_skip_src": 1,
        "fmt_skip_elsewhere": 0,
        "rigid_is_none": 1,
        "lines_core": len(CODE.splitlines()),
        "lines_src": len(CODE.splitlines()),
    }


def test_the_storages_may_ask_for_their_structure(tmp_path):
    path = tmp_path / "src" / "delassus" / "linalg" / "new.py"
    path.parent.mkdir(parents=True)
    path.write_text("is_rigid = storage.rigid is not None\n")
    assert house.counts(tmp_path)["rigid_is_none"] == 0
