"""FCLIB files: what is written is what is read, bit for bit."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from delassus.errors import ProblemError
from delassus.io.fclib import FclibFile, FclibMatrix, read_fclib, write_fclib

STORAGES = ["csr", "csc", "triplet"]


def assert_same_array(first: np.ndarray | None, second: np.ndarray | None) -> None:
    """Equal bit for bit: -0.0 differs from 0.0, and int32 from int64."""
    assert (first is None) == (second is None)
    if first is not None:
        assert first.dtype == second.dtype
        assert first.tobytes() == second.tobytes()


def assert_same_file(first: FclibFile, second: FclibFile) -> None:
    assert (first.form, first.spacedim, first.info) == (second.form, second.spacedim, second.info)
    assert first.matrices().keys() == second.matrices().keys()
    for name, matrix in first.matrices().items():
        other = second.matrices()[name]
        assert (matrix.m, matrix.n, matrix.nz, matrix.nzmax) == (other.m, other.n, other.nz, other.nzmax)
        assert matrix.info == other.info
        for part in "pix":
            assert_same_array(getattr(matrix, part), getattr(other, part))
    assert first.vectors().keys() == second.vectors().keys()
    for name, vector in first.vectors().items():
        assert_same_array(vector, second.vectors()[name])
    assert first.points().keys() == second.points().keys()
    for group, point in first.points().items():
        for name in "vurl":
            assert_same_array(getattr(point, name), getattr(second.points()[group], name))


def assert_round_trip(path: Path, copy: Path) -> None:
    """read -> write -> read changes nothing, and what was read is what plain h5py finds in the file."""
    file = read_fclib(path)
    write_fclib(copy, file, overwrite=True)
    assert_same_file(file, read_fclib(copy))
    with h5py.File(path, "r") as source:
        root = source[f"fclib_{file.form}"]
        for name, vector in file.vectors().items():
            assert_same_array(vector, root["vectors"][name][()])
        for name, matrix in file.matrices().items():
            for part in "pix":
                assert_same_array(getattr(matrix, part), root[name][part][()])
        assert file.info.title == root["info/title"][()].decode()
        assert len(file.guesses) == (source["guesses/number_of_guesses"][0] if "guesses" in source else 0)


def test_round_trip_of_every_collected_file(fclib_files, tmp_path):
    for path in fclib_files:
        assert_round_trip(path, tmp_path / "copy.hdf5")


def test_the_collection_has_a_guess_and_it_survives(fclib_dir, tmp_path):
    file = read_fclib(fclib_dir / "Capsules-i125-1213.hdf5")
    (guess,) = file.guesses
    assert guess.r is not None
    assert np.any(guess.r)
    assert guess.v is None
    write_fclib(tmp_path / "copy.hdf5", file)
    assert_same_array(guess.r, read_fclib(tmp_path / "copy.hdf5").guesses[0].r)


def test_round_trip_of_the_files_beside_the_tests(data_dir, tmp_path):
    paths = sorted(data_dir.glob("*.hdf5"))
    assert len(paths) == 5
    for path in paths:
        assert_round_trip(path, tmp_path / "copy.hdf5")


def test_round_trip_with_bilateral_rows_guesses_and_solution(local_sample, global_sample, tmp_path):
    for sample in (local_sample, global_sample):
        write_fclib(tmp_path / sample.form, sample)
        assert_same_file(sample, read_fclib(tmp_path / sample.form))


def test_writing_twice_gives_the_same_bytes(global_sample, tmp_path):
    write_fclib(tmp_path / "one", global_sample)
    write_fclib(tmp_path / "two", global_sample)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_layout_is_libfclibs(local_sample, global_sample, tmp_path):
    """int32 and float64 in arrays of length 1 and more, NUL-terminated strings: what H5LT calls in C expect."""
    write_fclib(tmp_path / "local", local_sample)
    write_fclib(tmp_path / "global", global_sample)
    with h5py.File(tmp_path / "local") as local, h5py.File(tmp_path / "global") as world:
        assert (local["fclib_local/W/m"].dtype, local["fclib_local/W/m"].shape) == (np.int32, (1,))
        assert local["guesses/number_of_guesses"][0] == 2
        title = local["fclib_local/info/title"]
        assert (title.id.get_type().get_strpad(), title.id.get_type().get_size()) == (h5py.h5t.STR_NULLTERM, 13)
        assert world["fclib_global/vectors/w"].compression == "gzip"  # 300 entries
        assert world["fclib_global/vectors/mu"].compression is None  # 100 entries
        assert world["fclib_global/vectors/f"].dtype == np.float64


def test_zero_contacts_are_legal(tmp_path):
    empty = FclibFile("local", mu=np.zeros(0), q=np.zeros(0), W=FclibMatrix.from_sparse(sp.csr_array((0, 0))))
    write_fclib(tmp_path / "local", empty)
    assert read_fclib(tmp_path / "local").contact_count == 0
    none = FclibMatrix.from_sparse(sp.csr_array((3, 0)), storage="triplet")
    free = FclibFile(
        "global", mu=np.zeros(0), w=np.zeros(0), f=np.ones(3), M=FclibMatrix.from_sparse(np.eye(3)), H=none
    )
    write_fclib(tmp_path / "global", free)
    assert read_fclib(tmp_path / "global").H.to_csr().shape == (3, 0)


@pytest.mark.parametrize("storage", STORAGES)
def test_matrix_survives_every_storage(storage):
    rng = np.random.default_rng(3)
    dense = rng.standard_normal((4, 7)) * (rng.random((4, 7)) < 0.4)
    matrix = FclibMatrix.from_sparse(sp.csr_array(dense), storage=storage)
    assert matrix.storage == storage
    np.testing.assert_array_equal(matrix.to_csr().toarray(), dense)


def test_triplets_store_columns_in_p_and_rows_in_i():
    matrix = FclibMatrix.from_sparse(sp.coo_array(([5.0], ([1], [2])), shape=(2, 3)), storage="triplet")
    assert (matrix.p.tolist(), matrix.i.tolist()) == ([2], [1])


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_duplicates_are_summed_and_unused_room_ignored(index):
    p, i = np.array([0, 0, 1, 99], index), np.array([1, 1, 0, 99], index)
    triplets = FclibMatrix(2, 2, 3, 4, p, i, np.array([1.0, 2.0, 4.0, np.nan]))
    np.testing.assert_array_equal(triplets.to_csr().toarray(), [[0, 4], [3, 0]])
    assert triplets.to_csr().nnz == 2
    rows = FclibMatrix(1, 2, -2, 4, np.array([0, 2], index), np.array([1, 1, 9, 9], index), np.array([1.0, 2.0, 7, 7]))
    np.testing.assert_array_equal(rows.to_csr().toarray(), [[0, 3]])
    assert rows.to_csr().nnz == 1
    np.testing.assert_array_equal(rows.x, [1, 2, 7, 7])  # summing worked on a copy


def test_unused_room_in_a_file_is_read_over(local_sample, tmp_path):
    path = tmp_path / "room"
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        group = target["fclib_local/R"]
        group["nzmax"][0] = 6
        for name, rest in (("p", [7, 7]), ("i", [7, 7]), ("x", [np.nan, np.inf])):
            longer = np.concatenate([group[name][()], np.array(rest, dtype=group[name].dtype)])
            del group[name]
            group[name] = longer
    file = read_fclib(path)
    assert (file.R.nzmax, len(file.R.x)) == (6, 4)
    np.testing.assert_array_equal(file.R.to_csr().toarray(), local_sample.R.to_csr().toarray())


@pytest.mark.parametrize("matrix", [np.zeros(3), sp.csr_array(np.eye(2) * 1j)])
def test_only_real_matrices_are_taken(matrix):
    with pytest.raises(ProblemError):
        FclibMatrix.from_sparse(matrix)
