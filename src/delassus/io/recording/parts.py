"""One part of a recording: an HDF5 file, written whole; the reader trusts nothing.

All datasets are contiguous and unpacked, so what a file declares can be held against its size before it is read."""

from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
from h5py import h5d, h5l, h5s, h5t

from delassus.errors import FileError
from delassus.io.fclib.source import H5_ERRORS
from delassus.io.files import size_of
from delassus.io.place import label, place

SUFFIX = ".hdf5"
STEM = "part-"
_KINDS = "fiuS"
_MOST_NAMES = 200


def part_path(folder: Path, first: int) -> Path:
    """Of the part whose first step has this number."""
    return folder / f"{STEM}{first:08d}{SUFFIX}"


def part_paths(folder: Path) -> list[Path]:
    """All parts, in order."""
    return sorted(folder.glob(f"{STEM}[0-9]*{SUFFIX}"), key=lambda path: (len(path.name), path.name))


def write_part(path: Path, about: str, arrays: dict[str, np.ndarray]) -> None:
    """Put the file in place whole, or leave what was there: the image is made in memory, since libhdf5 does not survive
    a disk that fills up while it writes."""
    image = BytesIO()  # libhdf5's own images are filled with zeros first, and copied to be read: twice the time
    with h5py.File(image, "w") as target:
        target.create_dataset("about", data=np.bytes_(about.encode()))
        for group in sorted({name.partition("/")[0] for name in arrays if "/" in name}):
            target.create_group(group)
        for name, array in arrays.items():
            _write_array(target, name, array)
    try:
        place(path, image.getbuffer())
    except OSError as error:
        reason = error.strerror or "input/output error"
        raise FileError(f"{label(path)}: cannot be written ({reason}): make room or choose another place") from None


def _write_array(target: h5py.File, name: str, array: np.ndarray) -> None:
    """What `create_dataset` does in four times the time, all of it arguments that are not given here."""
    kind, space = h5t.py_create(array.dtype), h5s.create_simple(array.shape)
    dataset = h5d.create(target.id, name.encode(), kind, space)
    if array.size:
        dataset.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(array))


class Part:
    """An open file; use as a context manager."""

    def __init__(self, path: Path):
        self._path = path

    def __enter__(self) -> "Part":
        self._size = size_of(self._path, label(self._path))
        try:
            self._file = h5py.File(self._path, "r")
        except H5_ERRORS as error:
            self.fail("is truncated or no HDF5 file: remove it to keep the steps before it", error)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        except H5_ERRORS as error:
            self.fail("is damaged (closing it failed): remove it to keep the steps before it", error)

    def fail(self, text: str, cause: BaseException | None = None) -> NoReturn:
        raise FileError(f"{label(self._path)}: {text}") from cause

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every array, one group deep; `kinds` are those of their types then."""
        out: dict[str, tuple[int, ...]] = {}
        self.kinds: dict[str, str] = {}
        for name in self._children(self._file):
            node = self._get(name)
            if isinstance(node, h5py.Group):
                for child in self._children(node):
                    out[f"{name}/{child}"] = self._shape(f"{name}/{child}")
            elif name != "about":
                out[name] = self._shape(name)
        return out

    def _shape(self, name: str) -> tuple[int, ...]:
        dataset = self._dataset(name)
        self.kinds[name] = dataset.dtype.kind
        return dataset.shape

    def about(self) -> str:
        """The text every part carries."""
        value = self.read("about")
        if value.dtype.kind != "S" or value.shape != ():
            self.fail("about is not a text: this is no part of a recording")
        return value.item().decode("utf-8", "replace")

    def read(self, name: str) -> np.ndarray:
        """An array, after its size was found to be in the file."""
        dataset = self._dataset(name)
        try:
            out = dataset[()] if dataset.shape == () else np.empty(dataset.shape, dataset.dtype)
            if dataset.shape != () and out.size:
                dataset.read_direct(out)
        except H5_ERRORS as error:
            self.fail(f"{name} cannot be read: damaged, remove the file to keep the steps before it", error)
        return np.asarray(out)

    def _children(self, group: h5py.Group) -> list[str]:
        try:
            if len(group) > _MOST_NAMES:
                self.fail("has more groups and arrays than any recording: not a part of one")
            names = [name.decode() for name in group.id]
            hard = all(group.id.links.get_info(name.encode()).type == h5l.TYPE_HARD for name in names)
        except H5_ERRORS as error:
            self.fail("cannot be listed: damaged, remove it to keep the steps before it", error)
        if not hard:
            self.fail("holds soft or external links, which are not followed: not a part of a recording")
        return names

    def _get(self, name: str) -> Any:
        above, _, _ = name.rpartition("/")
        parent = self._file[above] if above else self._file
        if name.rpartition("/")[2] not in self._children(parent):
            self.fail(f"{name} is missing: not a part of a recording, or damaged")
        try:
            return self._file[name]
        except H5_ERRORS as error:
            self.fail(f"{name} cannot be opened: damaged, remove the file to keep the steps before it", error)

    def _dataset(self, name: str) -> h5py.Dataset:
        node = self._get(name)
        if not isinstance(node, h5py.Dataset):
            self.fail(f"{name} is not an array: not a part of a recording")
        try:
            plist = node.id.get_create_plist()
            simple = plist.get_nfilters() == 0 and plist.get_external_count() == 0
            simple = simple and plist.get_layout() in (h5d.CONTIGUOUS, h5d.COMPACT) and node.shape is not None
            declared = int(np.prod(node.shape, dtype=object)) * node.dtype.itemsize if simple else 0
            fits = declared <= self._size and node.dtype.kind in _KINDS
        except H5_ERRORS as error:
            self.fail(f"{name} cannot be opened: damaged, remove the file to keep the steps before it", error)
        if not (simple and fits):
            self.fail(f"{name} is not stored as recordings are, or declares more than the file holds: damaged")
        return node
