"""`FclibFile` -> FCLIB HDF5 file that libfclib 3.1 reads, put in place whole or not at all."""

import os
from collections.abc import Iterable
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5s, h5t
from numpy.typing import ArrayLike, NDArray

from delassus.errors import FileError
from delassus.io.fclib.check import INT_MAX, Sizes, size_faults, value_faults
from delassus.io.fclib.file import MATRICES, FclibFile, FclibInfo, FclibMatrix, point_vectors
from delassus.io.files import path_of
from delassus.io.place import label, place

GZIP_ABOVE = 256  # entries; below, compression costs more room (chunk index) than it saves


def write_fclib(path: str | os.PathLike[str], file: FclibFile, *, overwrite: bool = False) -> None:
    """Write `file` to `path`, readable by libfclib 3.1 and by `read_fclib`, which gives back the same arrays.

    The file appears under its name complete (temporary file in the same directory, then rename) or not at all. An
    existing file is kept unless `overwrite`; a symbolic link is replaced, not followed. Raises `FileError` for that,
    for a problem `read_fclib` would refuse, and for whatever the disk objects to.
    """
    path = path_of(path, "write_fclib")
    name = label(path)
    _report(name, _faults(file))
    if os.path.isdir(path):
        raise FileError(f"{name}: is a directory: give the path of a file in it")
    if os.path.lexists(path) and not overwrite:
        raise FileError(f"{name}: exists already: pass overwrite=True or choose another name")
    try:
        place(path, _image(file), overwrite=overwrite)
    except FileExistsError:
        raise FileError(f"{name}: exists already: pass overwrite=True or choose another name") from None
    except OSError as error:
        reason = error.strerror or "input/output error"
        raise FileError(f"{name}: cannot be written ({reason}): choose a writable directory with room") from error


def _report(name: str, faults: Iterable[str]) -> None:
    for fault in faults:
        raise FileError(f"{name}: {fault}")


def _faults(file: FclibFile) -> Iterable[str]:
    if file.form not in MATRICES:
        yield f"form is {file.form!r}: expected 'local' or 'global'"
    yield from _array_faults(file)
    yield from size_faults(Sizes.of(file))
    yield from value_faults(file)
    texts = {f"info/{name}": text for name, text in vars(file.info).items()}
    texts |= {f"{name}/comment": m.info.comment for name, m in file.matrices().items() if m.info is not None}
    for field, text in texts.items():
        # The file ends a string at NUL, so what follows would be lost without a word; surrogates have no encoding.
        if text is not None and ("\0" in text or text != text.encode("utf-8", "replace").decode()):
            yield f"fclib_{file.form}/{field} contains a NUL or a lone surrogate: leave such characters out"
    for name, matrix in file.matrices().items():
        if matrix.info is not None and abs(matrix.info.rank) > INT_MAX:
            yield f"fclib_{file.form}/{name}/rank is {matrix.info.rank}: it must fit 32 bits"


def _array_faults(file: FclibFile) -> Iterable[str]:
    """The reader guarantees flat float and integer arrays; arrays from elsewhere may be anything."""
    root = f"fclib_{file.form}"
    arrays = {f"{root}/vectors/{name}": (vector, "f") for name, vector in file.vectors().items()}
    for name, matrix in file.matrices().items():
        arrays |= {f"{root}/{name}/p": (matrix.p, "iu"), f"{root}/{name}/i": (matrix.i, "iu")}
        arrays[f"{root}/{name}/x"] = (matrix.x, "f")
    for group, point in file.points().items():
        arrays |= {f"{group}/{name}": (vector, "f") for name, vector in point_vectors(point).items()}
    for field, (array, kinds) in arrays.items():
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
            wanted = "a flat float64 array" if kinds == "f" else "a flat integer array"
            shape = getattr(array, "shape", type(array).__name__)
            yield f"{field} is {shape} of {getattr(array, 'dtype', 'no dtype')}: give {wanted}"


def _image(file: FclibFile) -> bytes:
    """The bytes of the HDF5 file, made in memory: libhdf5 does not survive a disk that fills up while it writes.

    libver: up to what HDF5 1.10 reads, the version libfclib 3.1 is packaged with.
    """
    with h5py.File("image", "w", driver="core", backing_store=False, libver=("earliest", "v110")) as target:
        root = target.create_group(f"fclib_{file.form}")
        _put(root, "spacedim", [file.spacedim], np.int32)
        for name, matrix in file.matrices().items():
            _put_matrix(root.create_group(name), matrix.trimmed())
        vectors = root.create_group("vectors")
        for name, vector in file.vectors().items():
            _put(vectors, name, vector, np.float64)
        if file.info != FclibInfo():
            info = root.create_group("info")
            for name, text in vars(file.info).items():
                _put_text(info, name, text)
        if file.guesses:
            _put(target.create_group("guesses"), "number_of_guesses", [len(file.guesses)], np.int32)
        for group, point in file.points().items():
            where = target.create_group(group)
            for name, vector in point_vectors(point).items():
                _put(where, name, vector, np.float64)
        target.flush()
        return target.id.get_file_image()


def _put_matrix(group: h5py.Group, matrix: FclibMatrix) -> None:
    for name in ("nzmax", "m", "n", "nz"):
        _put(group, name, [getattr(matrix, name)], np.int32)
    _put(group, "p", matrix.p, np.int32)
    _put(group, "i", matrix.i, np.int32)
    _put(group, "x", matrix.x, np.float64)
    if matrix.info is not None:
        _put(group, "conditioning", [matrix.info.conditioning], np.float64)
        _put(group, "determinant", [matrix.info.determinant], np.float64)
        _put(group, "rank", [matrix.info.rank], np.int32)
        _put_text(group, "comment", matrix.info.comment)


def _put(group: h5py.Group, name: str, values: ArrayLike, dtype: type) -> None:
    data: NDArray[Any] = np.asarray(values, dtype=dtype)
    packing = {"compression": "gzip", "shuffle": True} if data.size > GZIP_ABOVE else {}
    group.create_dataset(name, data=data, **packing)


def _put_text(group: h5py.Group, name: str, text: str | None) -> None:
    """As libfclib does: a scalar of fixed length with a NUL at the end. (h5py's strings lack it: C would read on.)"""
    if text is None:
        return
    raw = text.encode("utf-8")
    kind = h5t.C_S1.copy()
    kind.set_size(len(raw) + 1)
    kind.set_strpad(h5t.STR_NULLTERM)
    kind.set_cset(h5t.CSET_ASCII if raw.isascii() else h5t.CSET_UTF8)
    dataset = h5d.create(group.id, name.encode(), kind, h5s.create(h5s.SCALAR))
    dataset.write(h5s.ALL, h5s.ALL, np.array(raw, dtype=f"S{len(raw) + 1}"), mtype=kind)
