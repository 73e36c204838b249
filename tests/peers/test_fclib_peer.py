"""libfclib, the reference implementation in C, reads what we write and writes what we read, bit for bit."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.io.fclib import FclibFile, FclibMatrix, FclibPoint, read_fclib, write_fclib

pytestmark = pytest.mark.peer

SOURCE = Path(__file__).with_name("fclib_peer.c")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program; under the address sanitizer if there is one, since libfclib trusts its files."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("peer") / "fclib_peer"
    for options in (["-fsanitize=address"], []):
        command = [compiler, "-O1", *options, os.fspath(SOURCE), "-o", os.fspath(program), "-lfclib"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode == 0:
            return program
    pytest.skip(f"libfclib is not installed (Debian: libfclib-dev): {built.stderr.strip().splitlines()[0]}")


def fnv1a(array: np.ndarray) -> str:
    value = 14695981039346656037
    for byte in array.tobytes():
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def expected_lines(file: FclibFile) -> list[str]:
    """What the program prints for `file`, from our arrays. Empty point vectors are unknown to libfclib."""
    lines = [f"spacedim {file.spacedim}"]
    for name, matrix in file.matrices().items():
        lines.append(f"{name} {matrix.m} {matrix.n} {matrix.nz} {matrix.nzmax}")
        for part, dtype in (("p", np.int32), ("i", np.int32), ("x", np.float64)):
            data = getattr(matrix.trimmed(), part).astype(dtype)
            lines.append(f"{name}/{part} {len(data)} {fnv1a(data)}")
        if matrix.info is not None:
            about = matrix.info
            numbers = f"{about.conditioning:.17g} {about.determinant:.17g} {about.rank}"
            lines.append(f"{name}/info {numbers} {about.comment or '-'}")
    lines += [f"{name} {len(vector)} {fnv1a(vector)}" for name, vector in file.vectors().items()]
    lines += [f"{name} {text}" for name, text in vars(file.info).items() if text is not None]
    for group, point in file.points().items():
        found = {name: getattr(point, name) for name in "vurl" if getattr(point, name) is not None}
        lines += [f"{group}/{name} {len(vector)} {fnv1a(vector)}" for name, vector in found.items() if len(vector)]
    return lines


def run_peer(peer: Path, file: FclibFile, path: Path) -> tuple[list[str], Path]:
    """Write `file`, let libfclib read it; returns what it saw and the copy it wrote."""
    write_fclib(path, file)
    copy = path.with_name(f"{path.name}.copy")
    parts = ["guesses"] * bool(file.guesses) + ["solution"] * (file.solution is not None)
    command = [os.fspath(peer), file.form, os.fspath(path), os.fspath(copy), *parts]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # libfclib has no function that frees everything
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), copy


def assert_agreement(peer: Path, file: FclibFile, path: Path) -> None:
    seen, copy = run_peer(peer, file, path)
    assert seen == expected_lines(file)
    assert expected_lines(read_fclib(copy)) == expected_lines(file)


def test_bilateral_rows_guesses_solution_and_info(peer, local_sample, global_sample, tmp_path):
    for sample in (local_sample, global_sample):
        assert_agreement(peer, sample, tmp_path / sample.form)


def test_checksums_tell_arrays_apart(peer, local_sample, tmp_path):
    """The comparison can fail: one changed bit in one array shows."""
    other = replace(local_sample, q=np.nextafter(local_sample.q, np.inf))
    assert run_peer(peer, local_sample, tmp_path / "one")[0] != expected_lines(other)


def test_problems_without_extras(peer, data_dir, tmp_path):
    paths = sorted(data_dir.glob("*.hdf5"))
    assert paths
    for path in paths:
        assert_agreement(peer, read_fclib(path), tmp_path / path.name)


def test_zero_contacts(peer, tmp_path):
    empty = FclibMatrix.from_sparse(sp.csr_array((0, 0)))
    assert_agreement(peer, FclibFile("local", mu=np.zeros(0), q=np.zeros(0), W=empty), tmp_path / "empty")


def test_unused_room_does_not_overrun_libfclib(peer, local_sample, tmp_path):
    """libfclib allocates nz triplets and then reads the whole dataset; nzmax may be larger, the dataset must not."""
    R = local_sample.R
    room = replace(R, nzmax=9, p=np.resize(R.p, 9), i=np.resize(R.i, 9), x=np.resize(R.x, 9))
    assert_agreement(peer, replace(local_sample, R=room), tmp_path / "triplets")
    W = local_sample.W
    room = replace(W, nzmax=99, i=np.resize(W.i, 99), x=np.resize(W.x, 99))
    seen, _ = run_peer(peer, replace(local_sample, W=room), tmp_path / "rows")
    assert seen == expected_lines(replace(local_sample, W=room))


def test_points_libfclib_reads_need_every_vector(peer, global_sample, tmp_path):
    """Why `FclibPoint` warns about gaps: libfclib gives up on a guess without v."""
    gap = replace(global_sample, guesses=(FclibPoint(u=np.zeros(300), r=np.zeros(300)),), solution=None)
    with pytest.raises(AssertionError, match="HDF5 call failed"):
        run_peer(peer, gap, tmp_path / "gap")
    assert read_fclib(tmp_path / "gap").guesses[0].v is None
