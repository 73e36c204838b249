"""Writing FCLIB files: whole or not at all, nothing overwritten by accident, no debris, nothing unreadable."""

import os
import resource
import stat
from dataclasses import replace

import numpy as np
import pytest

from delassus.errors import FileError
from delassus.io.fclib import FclibInfo, FclibMatrixInfo, FclibPoint, read_fclib, write_fclib


def test_existing_file_is_kept_unless_asked(local_sample, global_sample, tmp_path):
    path = tmp_path / "pile.hdf5"
    write_fclib(path, local_sample)
    before = path.read_bytes()
    with pytest.raises(FileError, match="pile.hdf5: exists already: pass overwrite=True"):
        write_fclib(path, global_sample)
    assert path.read_bytes() == before
    write_fclib(path, global_sample, overwrite=True)
    assert read_fclib(path).form == "global"
    assert os.listdir(tmp_path) == ["pile.hdf5"]


def test_file_that_appears_meanwhile_is_kept(local_sample, tmp_path, monkeypatch):
    path = tmp_path / "pile.hdf5"
    path.write_text("mine")
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # as if it had not been there yet
    with pytest.raises(FileError, match="exists already"):
        write_fclib(path, local_sample)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["pile.hdf5"]


def test_works_without_hard_links(local_sample, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_fclib(tmp_path / "pile.hdf5", local_sample)
    np.testing.assert_array_equal(read_fclib(tmp_path / "pile.hdf5").q, local_sample.q)
    assert os.listdir(tmp_path) == ["pile.hdf5"]


def test_file_mode_follows_the_umask(local_sample, tmp_path):
    before = os.umask(0o027)
    try:
        write_fclib(tmp_path / "pile.hdf5", local_sample)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "pile.hdf5").stat().st_mode) == 0o640


@pytest.mark.parametrize("overwrite", [False, True])
def test_full_disk_leaves_no_debris(global_sample, tmp_path, overwrite):
    """The kernel refuses to let any file grow beyond 4 kB, as a full disk would."""
    old = tmp_path / "pile.hdf5"
    if overwrite:
        old.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(FileError, match=r"pile.hdf5: cannot be written \(File too large\)") as caught:
            write_fclib(old, global_sample, overwrite=overwrite)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert [path.read_text() for path in tmp_path.iterdir()] == (["old"] if overwrite else [])


def test_failed_rename_leaves_no_debris(local_sample, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match="No space left"):
        write_fclib(tmp_path / "pile.hdf5", local_sample, overwrite=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_directory(local_sample, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="pile.hdf5: cannot be written"):
        write_fclib(tmp_path / "pile.hdf5", local_sample)
    tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == []


def test_impossible_destinations(local_sample, tmp_path):
    (tmp_path / "file").write_text("")
    for place in ("missing/pile.hdf5", "file/pile.hdf5", "", "nul\0.hdf5"):
        with pytest.raises(FileError) as caught:
            write_fclib(f"{tmp_path}/{place}", local_sample, overwrite=True)
        assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mu": np.array([0.5, -0.1])}, r"fclib_local/vectors/mu\[1\] is -0.1"),
        ({"mu": np.zeros(3)}, "fclib_local/vectors/mu has 3 entries, expected 2"),
        ({"mu": [0.5, 0.5]}, "fclib_local/vectors/mu is list"),
        ({"q": np.full(6, np.nan)}, r"fclib_local/vectors/q\[0\] is nan"),
        ({"q": np.zeros((6, 1))}, r"fclib_local/vectors/q is \(6, 1\)"),
        ({"W": None}, "fclib_local/W is missing"),
        ({"s": None}, "fclib_local/vectors/s is missing: give V, R, s together"),
        ({"spacedim": 2}, "fclib_local/spacedim is 2"),
        ({"form": "lokal"}, "form is 'lokal'"),
        ({"solution": FclibPoint(v=np.zeros(3))}, "solution/v has 3 entries, expected 0"),
        ({"info": FclibInfo(title="a\0b")}, "fclib_local/info/title contains a NUL"),
        ({"info": FclibInfo(title="\ud800")}, "fclib_local/info/title contains a NUL or a lone surrogate"),
    ],
)
def test_a_problem_that_could_not_be_read_is_not_written(local_sample, tmp_path, change, message):
    with pytest.raises(FileError, match=rf"pile.hdf5: {message}"):
        write_fclib(tmp_path / "pile.hdf5", replace(local_sample, **change))
    assert os.listdir(tmp_path) == []


def test_what_does_not_fit_32_bits_is_not_written(local_sample, tmp_path):
    about = FclibMatrixInfo(1.0, 1.0, 2**31)
    for change in ({"nzmax": 2**31}, {"info": about}):
        with pytest.raises(FileError, match="fclib_local/W/(nzmax|rank) is 2147483648"):
            write_fclib(tmp_path / "pile.hdf5", replace(local_sample, W=replace(local_sample.W, **change)))
