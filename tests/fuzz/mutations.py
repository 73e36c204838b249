"""Files changed in bytes or in structure, by random numbers alone: the same seed gives the same files."""

import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import h5py
import numpy as np

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-320",
    "0",
    "-1",
    "1e999",
    "0x10",
    "2147483648",
    "18446744073709551616",
    "package:///etc/passwd",
    "/dev/zero",
    "../../x.stl",
    "100000000",
    "0.5",
] + ["", "a" * 5000, "\u202e", "0 0 0", "1 2", "1" + "0" * 400]
BYTES = [b"\x00", b"\xff" * 8, b"nan", b"1e308", b"-1", b"<", b'"', b"&#27;", b"\x1b[2J", b"@/etc/passwd@"]
BYTES += [b"*INCLUDE, INPUT=/dev/zero\n"]
VALUES = [None, {}, [], "", -1, 0, 10**400, 1e308, "\x1b[2J", "a" * 5000, True, [[[]]], float("inf"), float("nan")]
ODD_REALS, ODD_COUNTS = [np.nan, np.inf, -1.0, 0.0, 1e308, 1e-320, 7.0], [-1, 0, 1, 7, 2**31 - 1, 2**62]
KINDS = ["i1", "u8", "f4", "f2", "S3", ">f8", "?", "c16"]


def in_bytes(content: bytes, rng: random.Random) -> bytes:
    """One to six edits."""
    out = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        if not out:
            break
        at, width = rng.randrange(len(out)), rng.randint(1, 60)
        match rng.randrange(6):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                del out[at : at + width]
            case 2:
                out[at:at] = rng.choice(BYTES)
            case 3:
                out[at : at + width] = rng.randbytes(width)
            case 4:
                out[at:at] = out[rng.randrange(len(out)) :][:width]
            case 5:
                del out[at:]
    return bytes(out)


def in_numbers(content: bytes, rng: random.Random) -> bytes:
    """A number of a text replaced by an odd one."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", content))
    for place in sorted(rng.sample(found, min(len(found), rng.randint(1, 3))), key=lambda one: -one.start()):
        content = content[: place.start()] + rng.choice(NUMBERS).encode() + content[place.end() :]
    return content


def in_elements(content: bytes, rng: random.Random) -> bytes:
    """Attributes changed, elements repeated, moved into each other, left out."""
    root = ET.fromstring(content)
    for _ in range(rng.randint(1, 4)):
        parents = [one for one in root.iter() if len(one)]
        every = [one for one in root.iter() if one.attrib]
        match rng.randrange(6):
            case 0 | 1 if every:
                one = rng.choice(every)
                one.attrib[rng.choice(list(one.attrib))] = rng.choice(NUMBERS)
            case 2 if every:
                one, other = rng.choice(every), rng.choice(every)
                one.attrib[rng.choice(list(other.attrib))] = rng.choice(list(other.attrib.values()))
            case 3 if parents:
                one = rng.choice(parents)
                one.append(ET.fromstring(ET.tostring(rng.choice(list(one)))))
            case 4 if parents:
                one = rng.choice(parents)
                one.remove(rng.choice(list(one)))
            case 5 if parents:
                one = rng.choice(parents)
                rng.choice(parents).append(ET.fromstring(ET.tostring(rng.choice(list(one)))))
    return ET.tostring(root)


def in_json(content: bytes, rng: random.Random) -> bytes:
    """A value of one line replaced, or left out."""
    lines = content.splitlines()
    k = rng.randrange(len(lines))
    table = json.loads(lines[k])
    key = rng.choice(list(table))
    if rng.random() < 0.2:
        del table[key]
    else:
        table[key] = rng.choice(VALUES)
    lines[k] = json.dumps(table).encode()
    return b"\n".join(lines) + b"\n"


def in_arrays(path: Path, rng: random.Random) -> None:
    """Arrays and groups of an HDF5 file replaced, linked, renamed, left out; texts in them changed."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(names)
            if name in file:
                _change(file, name, names, rng)


def _change(file: h5py.File, name: str, names: list[str], rng: random.Random) -> None:
    node = file[name]
    if isinstance(node, h5py.Group):
        del file[name]
        if rng.random() < 0.5:
            file[name] = rng.choice([h5py.SoftLink("/"), h5py.ExternalLink("/etc/passwd", "/"), np.zeros(3)])
        return
    data = node[()]
    del file[name]
    match rng.randrange(8):
        case 0:
            return
        case 1:
            file.create_group(name)
        case 2:
            file[name] = rng.choice([h5py.SoftLink(f"/{rng.choice(names)}"), h5py.ExternalLink("/etc/passwd", "/x")])
        case 3:
            file[name] = np.resize(np.atleast_1d(data), rng.choice([0, 1, np.size(data) + 1, 2 * np.size(data)]))
        case 4:
            file[name] = np.zeros(np.shape(data), rng.choice(KINDS))
        case 5:
            file.create_dataset(name, (10**9,), "f8", chunks=(2**16,))
        case 6 if isinstance(data, bytes):
            file[name] = np.bytes_(in_numbers(data, rng) if rng.random() < 0.7 else in_bytes(data, rng))
        case _:
            values = np.atleast_1d(np.asarray(data)).copy()
            if values.dtype.kind == "O":
                values = np.zeros(3)
            elif values.size and values.dtype.kind in "fiu":
                odd = ODD_REALS if values.dtype.kind == "f" else ODD_COUNTS
                with np.errstate(all="ignore"):
                    values.flat[rng.randrange(values.size)] = np.array(rng.choice(odd)).astype(values.dtype)
            file[name] = values.reshape(np.shape(data)) if values.size == np.size(data) else values


def mutate(source: Path, target: Path, rng: random.Random) -> str:
    """The file at `target`, changed in one of the ways that fit it; the way."""
    content = source.read_bytes()
    ways = ["bytes"]
    if content.startswith(b"\x89HDF"):
        ways = ["bytes", "arrays", "arrays", "arrays"]
    elif source.suffix in (".xml", ".urdf", ".vtu", ".xdmf"):
        ways = ["bytes", "numbers", "elements", "elements"]
    elif source.suffix in (".jsonl", ".json"):
        ways = ["bytes", "json", "json", "json"]
    elif b"\0" not in content:
        ways = ["bytes", "numbers", "numbers"]
    way = rng.choice(ways)
    if way == "arrays":
        target.write_bytes(content)
        try:
            in_arrays(target, rng)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError):  # h5py stumbled over an earlier change
            way = "bytes"
    if way != "arrays":
        change = {"bytes": in_bytes, "numbers": in_numbers, "elements": in_elements, "json": in_json}[way]
        target.write_bytes(change(content, rng))
    return way
