"""FCLIB files made to harm: pointing outside themselves, declaring more than they hold, unpacking to more still."""

import os
import zlib

import h5py
import numpy as np
import pytest
from test_fclib_bad_input import G, L, link, path, put, refusal

from delassus.io.fclib import read_fclib, write_fclib

__all__ = ["path"]  # a fixture: pytest finds it here by name


def test_data_outside_the_file_is_never_opened(local_sample, path, tmp_path):
    """The targets exist and fit, so only refusing to look keeps them out."""
    write_fclib(path, local_sample)
    (tmp_path / "raw").write_bytes(bytes(48))
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["q"] = np.zeros(6)
    layout = h5py.VirtualLayout((6,), "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.hdf5", "q", (6,))
    with h5py.File(path, "r+") as target:
        del target[f"{L}/vectors/q"]
        target.create_dataset(f"{L}/vectors/q", (6,), "f8", external=[(os.fspath(tmp_path / "raw"), 0, 48)])
    refusal(path, f"{L}/vectors/q keeps its data in another file")
    with h5py.File(path, "r+") as target:
        del target[f"{L}/vectors/q"]
        target.create_virtual_dataset(f"{L}/vectors/q", layout)
    refusal(path, f"{L}/vectors/q keeps its data in another file")
    with h5py.File(path, "r+") as target:
        link(f"{L}/vectors/q", h5py.ExternalLink(os.fspath(tmp_path / "other.hdf5"), "/q"))(target)
        assert target[f"{L}/vectors/q"].shape == (6,)
    refusal(path, f"{L}/vectors/q is a soft or external link")


@pytest.mark.parametrize("shape", [10**9, 10**12, 2**62])
def test_declared_size_is_refused_before_allocating(local_sample, path, shape):
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        del target[f"{L}/vectors/q"]
        target.create_dataset(f"{L}/vectors/q", (shape,), "f8", chunks=(2**20,))
    refusal(path, f"{L}/vectors/q has {shape} entries, expected 6")


@pytest.mark.parametrize("chunk", [1, 2**20])
def test_consistent_but_empty_giant_is_refused(path, chunk):
    """0 x 0 contacts... times 1e8: all lengths agree, nothing is stored. Chunks of 1 would cost libhdf5 4 kB each."""
    count = 3 * 10**8
    with h5py.File(path, "w") as target:
        put(f"{L}/spacedim", [3])(target)
        for name, value in (("m", count), ("n", count), ("nz", 0), ("nzmax", 0)):
            put(f"{L}/W/{name}", [value])(target)
        for name, kind in (("p", "i4"), ("i", "i4"), ("x", "f8")):
            put(f"{L}/W/{name}", np.zeros(0, kind))(target)
        target.create_dataset(f"{L}/vectors/q", (count,), "f8", chunks=(chunk,))
        target.create_dataset(f"{L}/vectors/mu", (count // 3,), "f8", chunks=(chunk,))
    refusal(path, f"{L}/vectors/q declares", "max_bytes" if chunk == 1 else "0 bytes are stored")


@pytest.mark.parametrize("size", [10**12, 2**31 - 1, 2**31 - 2])
def test_giant_header_with_tiny_arrays_is_refused(local_sample, path, size):
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        for name in ("m", "n"):
            put(f"{L}/R/{name}", np.array([size]))(target)
            put(f"{L}/W/{name}", np.array([size]))(target)
    refusal(path, f"{L}/W/")


def test_budget_counts_the_whole_file(global_sample, path):
    write_fclib(path, global_sample)
    # Enough for the largest array (45 kB, as libhdf5 spends 4 kB on each of its 4 chunks), not for all of them.
    enough_for_one = 2 * global_sample.H.x.nbytes
    refusal(path, "declares too much", f"over {enough_for_one} bytes", "max_bytes", max_bytes=enough_for_one)
    read_fclib(path, max_bytes=10 * enough_for_one)


def test_chunks_never_written_are_zero(global_sample, path):
    """Legal HDF5, if unusual: half of the array is stored, the rest is the fill value."""
    write_fclib(path, global_sample)
    with h5py.File(path, "r+") as target:
        del target[f"{G}/vectors/w"]
        target.create_dataset(f"{G}/vectors/w", (300,), "f8", chunks=(150,), compression="gzip")[:150] = 1.0
    np.testing.assert_array_equal(read_fclib(path).w, np.repeat([1.0, 0.0], 150))


@pytest.mark.parametrize(
    "packed", [zlib.compress(bytes(10**8)), zlib.compress(bytes(8)), zlib.compress(bytes(2400))[:-3], b"no zlib stream"]
)
def test_gzip_chunk_must_unpack_to_its_size(global_sample, path, packed):
    """100 MB in 97 kB (libhdf5 would unpack all of it), too little, cut off, and garbage; 300 numbers are declared."""
    write_fclib(path, global_sample)
    with h5py.File(path, "r+") as target:
        target[f"{G}/vectors/w"].id.write_direct_chunk((0,), packed)
    refusal(path, f"{G}/vectors/w has a chunk that does not unpack to its size")


def test_gzip_filter_without_its_level_is_refused(local_sample, path):
    """h5py's own `compression` property leaks an IndexError here; found by fuzzing."""
    write_fclib(path, local_sample)
    with h5py.File(path, "r+") as target:
        del target[f"{L}/vectors/q"]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((6,))
        plist.set_filter(h5py.h5z.FILTER_DEFLATE, h5py.h5z.FLAG_MANDATORY, ())
        shape = h5py.h5s.create_simple((6,))
        place = target[f"{L}/vectors"].id
        dataset = h5py.h5d.create(place, b"q", h5py.h5t.IEEE_F64LE, shape, plist)
        dataset.write_direct_chunk((0,), zlib.compress(bytes(48)))
    refusal(path, f"{L}/vectors/q cannot be read", "damaged HDF5")
