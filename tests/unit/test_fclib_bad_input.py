"""Each kind of bad FCLIB file is refused with one line: file, field, fix. (Hostile files: test_fclib_hostile.)"""

import os
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest

from delassus.errors import FileError
from delassus.io.fclib import read_fclib, write_fclib

# Reading the samples takes about 0.1 MB; what a hostile file declares is 100 times this limit and more.
MEMORY_LIMIT = 4_000_000  # bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pile.hdf5"


def refusal(path: Path, *words: str, **options: int) -> str:
    """The message `read_fclib` refuses `path` with: one line, the file first, all `words` in it, no memory wasted."""
    tracemalloc.start()
    try:
        with pytest.raises(FileError) as caught:
            read_fclib(path, **options)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_LIMIT
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert message.count(": ") >= 2, "no fix in the message"
    for word in words:
        assert word in message
    return message


def put(field: str, data: object, **options: object):
    """An edit that replaces the dataset at `field`."""

    def edit(target: h5py.File) -> None:
        if field in target:
            del target[field]
        target.create_dataset(field, data=data, **options)

    return edit


def drop(field: str):
    def edit(target: h5py.File) -> None:
        del target[field]

    return edit


def poke(field: str, index: int, value: float):
    def edit(target: h5py.File) -> None:
        target[field][index] = value

    return edit


def link(field: str, target_link: object):
    def edit(target: h5py.File) -> None:
        del target[field]
        target[field] = target_link

    return edit


L, G = "fclib_local", "fclib_global"  # local_sample: 2 contacts, p = 2; global_sample: 100 contacts, 12 dofs, p = 1
VLEN = h5py.string_dtype()

BROKEN = [  # (sample, edit, words of the message)
    ("local", drop(L), ["fclib_local or fclib_global is missing"]),
    ("local", drop(f"{L}/W"), [f"{L}/W is missing"]),
    ("local", drop(f"{L}/W/p"), [f"{L}/W/p is missing"]),
    ("local", drop(f"{L}/W/nzmax"), [f"{L}/W/nzmax is missing"]),
    ("local", drop(f"{L}/W/rank"), [f"{L}/W/rank is missing"]),
    ("local", drop(f"{L}/spacedim"), [f"{L}/spacedim is missing"]),
    ("local", drop(f"{L}/vectors"), [f"{L}/vectors/q is missing"]),
    ("local", drop(f"{L}/vectors/mu"), [f"{L}/vectors/mu is missing"]),
    ("local", drop(f"{L}/V"), [f"{L}/V is missing", "V, R, s together"]),
    ("global", drop(f"{G}/H"), [f"{G}/H is missing"]),
    ("global", drop(f"{G}/vectors/b"), [f"{G}/vectors/b is missing", "G, b together"]),
    ("local", drop("guesses/number_of_guesses"), ["guesses/number_of_guesses is missing"]),
    ("local", drop("guesses/2"), ["guesses/2 is missing", "number_of_guesses is 2"]),
    ("local", poke("guesses/number_of_guesses", 0, 2**31 - 1), ["guesses/3 is missing"]),
    ("local", poke("guesses/number_of_guesses", 0, -1), ["guesses/number_of_guesses is -1"]),
    ("local", put("guesses/1", 1.0), ["guesses/1 is not a group"]),
    ("local", put(f"{L}/W", 1.0), [f"{L}/W is not a group"]),
    ("local", link(f"{L}/vectors/q", np.dtype("f8")), [f"{L}/vectors/q is not a dataset"]),
    ("local", put(f"{L}/vectors/q", np.arange(6)), [f"{L}/vectors/q has type int64", "float64"]),
    ("local", put(f"{L}/vectors/q", np.zeros(6, complex)), [f"{L}/vectors/q has type complex128"]),
    ("local", put(f"{L}/vectors/q", ["a"] * 6), [f"{L}/vectors/q has type object"]),
    ("local", put(f"{L}/W/i", np.zeros(36)), [f"{L}/W/i has type float64", "integer"]),
    ("local", put(f"{L}/W/m", [6.0]), [f"{L}/W/m has type float64"]),
    ("local", put(f"{L}/W/m", [6, 6]), [f"{L}/W/m has shape (2,)"]),
    ("local", put(f"{L}/W/m", h5py.Empty("i4")), [f"{L}/W/m has no dataspace"]),
    ("local", put(f"{L}/vectors/q", np.zeros((6, 1))), [f"{L}/vectors/q has 2 dimensions"]),
    ("local", put(f"{L}/vectors/q", 1.0), [f"{L}/vectors/q has 0 dimensions"]),
    ("local", put(f"{L}/info/title", "text", dtype=VLEN), [f"{L}/info/title has type object", "fixed-length"]),
    ("local", put(f"{L}/info/title", np.array([b"a", b"b"])), [f"{L}/info/title has shape (2,)"]),
    ("local", put(f"{L}/vectors/mu", np.ones(3)), [f"{L}/vectors/mu has 3 entries, expected 2 (W is 6 x 6)"]),
    ("local", put(f"{L}/vectors/q", np.zeros(7)), [f"{L}/vectors/q has 7 entries, expected 6 (W is 6 x 6)"]),
    ("local", put(f"{L}/vectors/s", np.zeros(3)), [f"{L}/V is 6 x 2, expected 6 x 3"]),
    ("local", poke(f"{L}/R/n", 0, 3), [f"{L}/R is 2 x 3, expected 2 x 2"]),
    ("local", poke(f"{L}/W/n", 0, 7), [f"{L}/W is 6 x 7", "square"]),
    ("global", poke(f"{G}/M/m", 0, 13), [f"{G}/M is 13 x 12", "square"]),
    ("global", poke(f"{G}/H/m", 0, 11), [f"{G}/H is 11 x 300, expected 12 x 300"]),
    ("global", put(f"{G}/vectors/f", np.zeros(11)), [f"{G}/vectors/f has 11 entries, expected 12"]),
    ("global", put(f"{G}/vectors/w", np.zeros(303)), [f"{G}/vectors/w has 303 entries, expected 300"]),
    ("global", poke(f"{G}/G/m", 0, 13), [f"{G}/G is 13 x 1, expected 12 x 1"]),
    ("local", put("solution/u", np.zeros(3)), ["solution/u has 3 entries, expected 6"]),
    ("local", put("guesses/2/l", np.zeros(3)), ["guesses/2/l has 3 entries, expected 2"]),
    ("local", put("solution/v", np.zeros(3)), ["solution/v has 3 entries, expected 0"]),
    ("local", put(f"{L}/W/p", np.zeros(8, "i4")), [f"{L}/W/p has 8 entries, expected 7", "pointer per row"]),
    ("local", put(f"{L}/V/p", np.zeros(4, "i4")), [f"{L}/V/p has 4 entries, expected 3", "pointer per column"]),
    ("local", put(f"{L}/W/x", np.zeros(35)), [f"{L}/W/i has 36 entries and x has 35"]),
    ("local", put(f"{L}/R/x", np.zeros(3)), [f"{L}/R/x has 3 entries, expected 4"]),
    ("local", poke(f"{L}/R/nzmax", 0, 3), [f"{L}/R/nzmax is 3, less than nz = 4"]),
    ("local", poke(f"{L}/W/nzmax", 0, 35), [f"{L}/W/i has 36 entries, more than nzmax = 35"]),
    ("local", poke(f"{L}/W/nzmax", 0, -1), [f"{L}/W/nzmax is -1"]),
    ("local", poke(f"{L}/W/nz", 0, -3), [f"{L}/W/nz is -3"]),
    ("local", poke(f"{L}/W/i", 5, 6), [f"{L}/W/i[5] is 6", "6 columns"]),
    ("local", poke(f"{L}/W/i", 5, -1), [f"{L}/W/i[5] is -1"]),
    ("local", poke(f"{L}/V/i", 3, 6), [f"{L}/V/i[3] is 6", "6 rows"]),
    ("local", poke(f"{L}/R/p", 1, 2), [f"{L}/R/p[1] is 2", "2 columns"]),
    ("local", poke(f"{L}/W/p", 0, 1), [f"{L}/W/p[0] is 1", "start at 0"]),
    ("local", poke(f"{L}/W/p", 3, 5), [f"{L}/W/p decreases after p[2]"]),
    ("local", poke(f"{L}/W/p", 6, 37), [f"{L}/W/p ends at 37"]),
    ("local", poke(f"{L}/W/x", 7, np.nan), [f"{L}/W/x[7] is nan", "finite"]),
    ("local", poke(f"{L}/vectors/q", 2, np.inf), [f"{L}/vectors/q[2] is inf"]),
    ("local", poke("solution/r", 1, np.nan), ["solution/r[1] is nan"]),
    ("local", poke(f"{L}/vectors/mu", 1, -0.25), [f"{L}/vectors/mu[1] is -0.25", "negative"]),
    ("local", poke(f"{L}/spacedim", 0, 2), [f"{L}/spacedim is 2", "2-D is not"]),
    (
        "local",
        lambda target: target.copy(L, G),
        ["fclib_local and fclib_global are both there", "one problem per file"],
    ),
    ("local", put(f"{L}/vectors/q", np.zeros(6), chunks=(6,), compression="lzf"), [f"{L}/vectors/q uses HDF5 filters"]),
    ("local", link(L, h5py.SoftLink("/elsewhere")), [f"{L} is a soft or external link"]),
    ("local", link(f"{L}/W", h5py.ExternalLink("other.hdf5", f"/{L}/W")), [f"{L}/W is a soft or external link"]),
    ("local", link(f"{L}/vectors/q", h5py.ExternalLink("other.hdf5", "/q")), [f"{L}/vectors/q is a soft or external"]),
]


@pytest.mark.parametrize(
    ("form", "edit", "words"), BROKEN, ids=[f"{k}-{row[2][0][:40]}" for k, row in enumerate(BROKEN)]
)
def test_broken_file_is_refused(form, edit, words, path, request):
    write_fclib(path, request.getfixturevalue(f"{form}_sample"))
    with h5py.File(path, "r+") as target:
        edit(target)
    refusal(path, *words)


def test_w_must_have_three_rows_per_contact(local_sample, path):
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        target[f"{L}/W/m"][0] = target[f"{L}/W/n"][0] = 5
        put(f"{L}/W/p", np.zeros(6, "i4"))(target)
    refusal(path, f"{L}/W has 5 rows", "multiple of 3")


def test_not_a_file(path, tmp_path):
    refusal(path, "no such file")
    path.write_bytes(b"")
    refusal(path, "empty")
    path.write_text("3\n1 0 0\n")
    refusal(path, "not an HDF5 file")
    refusal(tmp_path, "is a directory")
    os.mkfifo(tmp_path / "pipe")
    refusal(tmp_path / "pipe", "not a regular file")
    with pytest.raises(FileError, match=r"^two\?lines: no such file"):
        read_fclib("two\nlines")
    with pytest.raises(FileError, match=r"nul\?: "):
        read_fclib("nul\0")


def test_every_truncation_is_noticed(global_sample, path):
    write_fclib(path, global_sample)
    whole = path.read_bytes()
    for size in [*range(8, len(whole), 331), len(whole) - 1]:  # 331: prime, about 100 cuts at all alignments
        path.write_bytes(whole[:size])
        refusal(path, "truncated or damaged HDF5")


def test_other_integer_types_and_byte_orders_are_read(local_sample, path):
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        put(f"{L}/W/i", local_sample.W.i.astype(">i8"))(target)
        put(f"{L}/W/p", local_sample.W.p.astype("u1"))(target)
        put(f"{L}/W/m", 6)(target)
        put(f"{L}/vectors/mu", np.array([0.5, 0.0], ">f4"))(target)
        put(f"{L}/info/title", np.bytes_("Größe".encode("latin-1")))(target)
    file = read_fclib(path)
    np.testing.assert_array_equal(file.W.to_csr().toarray(), local_sample.W.to_csr().toarray())
    np.testing.assert_array_equal(file.mu, [0.5, 0.0])
    assert file.info.title == "Größe"
    write_fclib(path, file, overwrite=True)
    assert read_fclib(path).info.title == "Größe"
