"""HDF5 as an untrusted source: nothing is allocated before it was measured, nothing outside the file is opened.

Why not plain h5py: libhdf5 inflates whatever a gzip chunk contains (1 MB on disk became 1 GiB of work for a dataset of
1000 numbers), spends about 4 kB and 10 us per chunk even if none is stored (1.4 kB on disk can declare 1e9 of them),
follows external links, and reports trouble as any of eight exception types. Here each dataset is charged to one
budget for the whole file, links are not followed, and every failure is one `FileError` line naming file and field.
What this cannot do is protect libhdf5 from itself: it reads superblock and group tables before we see anything, and
rare damage there (one in some 200 000 random ones) makes it crash or allocate what a 32-bit size field says.
tests/unit/test_fclib_fuzz.py keeps count.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o
from numpy.typing import NDArray

from delassus.errors import FileError
from delassus.io.fclib import chunks
from delassus.io.files import path_of
from delassus.io.place import label

# What h5py raises for damaged data depends on the damage; caught only around single h5py calls (`_guarded`).
H5_ERRORS = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, AttributeError, MemoryError)


class Source:
    """An open HDF5 file; `field` is always an absolute path in it, as "fclib_local/vectors/q"."""

    def __init__(self, path: str | os.PathLike[str], max_bytes: int) -> None:
        self._given = self._path = path_of(path, "read_fclib")
        self._bytes_left = self._max_bytes = max_bytes
        self._nodes: dict[str, Any] = {}
        self._datasets: dict[str, h5py.Dataset] = {}

    @property
    def _name(self) -> str:
        return label(self._given)

    def __enter__(self) -> "Source":
        self._size = self._file_size()
        if self._size == 0:
            self.fail("the file is empty: copy or write it again")
        try:
            self._file = h5py.File(self._path, "r")
        except H5_ERRORS as error:
            if isinstance(error, PermissionError):
                text = "no permission to read it: change its mode or copy it"
            elif h5py.is_hdf5(self._path):
                text = "truncated or damaged HDF5 (or open for writing elsewhere): copy or write it again"
            else:
                text = "not an HDF5 file: FCLIB problems are HDF5, other formats must be converted first"
            raise FileError(f"{self._name}: {text}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._datasets.clear()
        self._nodes.clear()
        try:
            self._file.close()
        except H5_ERRORS as error:  # what was read is already checked, but libhdf5 found the file's own tables broken
            raise FileError(f"{self._name}: damaged HDF5 (closing it failed): copy or write it again") from error

    def fail(self, text: str) -> NoReturn:
        """Raise FileError with `text` (which starts with the field) after the file's name."""
        raise FileError(f"{self._name}: {text}")

    def has(self, field: str) -> bool:
        """Whether there is something at `field`. Links are refused, not followed."""
        return self._open(field) is not None

    def length(self, field: str) -> int:
        """Declared number of entries of a 1-D dataset; reads no data."""
        shape = self._dataset(field).shape
        if len(shape) != 1:
            self.fail(f"{field} has {len(shape)} dimensions, expected 1: store it as a flat array")
        return int(shape[0])

    def integer(self, field: str) -> int:
        """A single integer, stored as [1] (or as a scalar)."""
        return int(self._single(field, "integer")[0])

    def real(self, field: str) -> float:
        """A single floating-point number, stored as [1] (or as a scalar)."""
        return float(self._single(field, "real")[0])

    def integers(self, field: str) -> NDArray[Any]:
        """A 1-D dataset of any integer type as int32 where that always fits, else int64."""
        return self._read(field, (self.length(field),), "integer")

    def reals(self, field: str) -> NDArray[np.float64]:
        """A 1-D dataset of float32 or float64 as float64."""
        return self._read(field, (self.length(field),), "real")

    def text(self, field: str) -> str:
        """A fixed-length string; UTF-8, or Latin-1 where it is not UTF-8. Ends at the first NUL."""
        dataset = self._dataset(field)
        if dataset.shape not in ((), (1,)):
            self.fail(f"{field} has shape {dataset.shape}, expected one string: store a scalar")
        raw = self._read(field, dataset.shape, "text").tobytes().split(b"\0")[0]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    # -- from here on: how --

    def _file_size(self) -> int:
        try:
            status = self._path.stat()
            is_file, is_directory = self._path.is_file(), self._path.is_dir()
        except FileNotFoundError:
            raise FileError(f"{self._name}: no such file: check the path") from None
        except (OSError, ValueError) as error:
            raise FileError(f"{self._name}: cannot be opened: check the path") from error
        if not is_file:
            kind = "a directory" if is_directory else "not a regular file"
            raise FileError(f"{self._name}: is {kind}: give the path of an HDF5 file")
        return status.st_size

    @contextmanager
    def _guarded(self, field: str) -> Iterator[None]:
        """Turn whatever h5py raises inside into one line about `field`."""
        try:
            yield
        except H5_ERRORS as error:
            raise FileError(f"{self._name}: {field} cannot be read: damaged HDF5, copy or write it again") from error

    def _open(self, field: str) -> Any:
        """The h5py low-level object at `field`, or None; every step of the path must be a hard link."""
        if field not in self._nodes:
            above, _, name = field.rpartition("/")
            group = self._open(above) if above else self._file.id
            if group is not None and not isinstance(group, h5g.GroupID):  # a FileID is one too
                self.fail(f"{above} is not a group: it must contain {name}")
            self._nodes[field] = None if group is None else self._open_link(field, group, name.encode())
        return self._nodes[field]

    def _open_link(self, field: str, group: h5g.GroupID, name: bytes) -> Any:
        with self._guarded(field):
            # Not `name in group`: that follows an external link to see whether its target exists.
            if not group.links.exists(name):
                return None
            kind = group.links.get_info(name).type
        if kind != h5l.TYPE_HARD:
            self.fail(f"{field} is a soft or external link: links are not followed, store the data itself")
        with self._guarded(field):
            return h5o.open(group, name)

    def _dataset(self, field: str) -> h5py.Dataset:
        """The dataset at `field`, its storage vetted, its data not yet read."""
        if field in self._datasets:
            return self._datasets[field]
        node = self._open(field)
        if node is None:
            self.fail(f"{field} is missing: the FCLIB format requires it")
        if not isinstance(node, h5d.DatasetID):
            self.fail(f"{field} is not a dataset: store an array under this name")
        with self._guarded(field):
            dataset = h5py.Dataset(node)
            plist = node.get_create_plist()
            outside = plist.get_layout() == h5d.VIRTUAL or plist.get_external_count() > 0
            pipeline = chunks.pipeline(node) if plist.get_nfilters() else ()
            shape = dataset.shape
        if outside:
            self.fail(f"{field} keeps its data in another file: store the data itself")
        if pipeline not in chunks.PIPELINES:
            self.fail(f"{field} uses HDF5 filters {pipeline}: only shuffle and gzip are read, repack it (h5repack)")
        if shape is None:
            self.fail(f"{field} has no dataspace (HDF5 null): store an array, of length 0 if there is nothing")
        self._datasets[field] = dataset
        return dataset

    def _single(self, field: str, kind: str) -> NDArray[Any]:
        shape = self._dataset(field).shape
        if shape not in ((), (1,)):
            self.fail(f"{field} has shape {shape}, expected a single number: store an array of length 1")
        return self._read(field, shape, kind).reshape(1)

    def _read(self, field: str, shape: tuple[int, ...], kind: str) -> NDArray[Any]:
        """The data of `field`, after its type, its size and its compressed chunks have been found harmless."""
        dataset = self._dataset(field)
        dtype = self._memory_type(field, dataset, kind)
        with self._guarded(field):
            file_item = dataset.id.get_type().get_size()
            item = max(file_item, dtype.itemsize)
            chunk = chunks.length(dataset.id) if dataset.chunks is not None else 0
            stored = min(dataset.id.get_storage_size(), self._size)
        entries = shape[0] if shape else 1
        chunk_count = -(-entries // chunk) if chunk else 0
        self._charge(field, max(entries, chunk) * item + chunk_count * chunks.COST)
        if stored * chunks.GZIP_RATIO < entries * file_item:
            self.fail(f"{field} declares {entries} entries but {stored} bytes are stored: damaged, write it again")
        with self._guarded(field):
            is_honest = not chunk or chunks.unpack_to_their_size(dataset.id, self._size)
        if not is_honest:
            self.fail(f"{field} has a chunk that does not unpack to its size: damaged, copy or write it again")
        with self._guarded(field):
            out = np.empty(shape, dtype=dtype)
            if out.size:
                dataset.read_direct(out)
        return out

    def _memory_type(self, field: str, dataset: h5py.Dataset, kind: str) -> np.dtype[Any]:
        with self._guarded(field):
            stored = dataset.dtype
        if kind == "integer" and stored.kind in "iu" and stored.itemsize <= 8:
            fits = stored.itemsize <= (4 if stored.kind == "i" else 2)
            return np.dtype(np.int32 if fits else np.int64)
        if kind == "real" and stored.kind == "f" and stored.itemsize in (4, 8):
            return np.dtype(np.float64)
        if kind == "text" and stored.kind == "S":
            return stored
        wanted = {"integer": "an integer type", "real": "float64", "text": "a fixed-length string"}[kind]
        # Variable-length strings too: libfclib cannot read them, and their length is only known after allocating.
        return self.fail(f"{field} has type {stored}, expected {wanted}: store it as that")

    def _charge(self, field: str, cost: int) -> None:
        if cost > self._bytes_left:
            limit = self._max_bytes
            self.fail(
                f"{field} declares too much: the file needs over {limit} bytes, raise max_bytes if it is meant to"
            )
        self._bytes_left -= cost
