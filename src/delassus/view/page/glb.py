"""A surface with colours at its corners, as the binary glTF 2.0 that browsers read."""

import json
import struct

import numpy as np

_ARRAYS, _INDICES = 34962, 34963  # targets of buffers: corners, triangles
_FLOAT, _BYTE, _WHOLE = 5126, 5121, 5125  # types of components


def glb(points: np.ndarray, faces: np.ndarray, colours: np.ndarray) -> bytes:
    """points: (n, 3) [m]; faces: (f, 3), anticlockwise seen from outside; colours: (n, 3) 0 … 1, linear, as viser takes
    all its colours. Dull, and not of metal, as surfaces without a material are: black without surroundings."""
    opaque = np.rint(255.0 * np.column_stack([np.clip(colours, 0.0, 1.0), np.ones(len(points))]))
    normals = _normals(points, faces)
    parts = [
        (points.astype("<f4"), _FLOAT, "VEC3", _ARRAYS),
        (normals.astype("<f4"), _FLOAT, "VEC3", _ARRAYS),
        (opaque.astype("u1"), _BYTE, "VEC4", _ARRAYS),
        (faces.astype("<u4").ravel(), _WHOLE, "SCALAR", _INDICES),
    ]
    views, accessors, content = [], [], b""
    for k, (array, component, kind, target) in enumerate(parts):
        views.append({"buffer": 0, "byteOffset": len(content), "byteLength": array.nbytes, "target": target})
        accessors.append({"bufferView": k, "componentType": component, "count": len(array), "type": kind})
        content += array.tobytes()  # all of them multiples of four bytes
    accessors[0] |= {"min": parts[0][0].min(axis=0).tolist(), "max": parts[0][0].max(axis=0).tolist()}
    accessors[2]["normalized"] = True
    corners = {"attributes": {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2}, "indices": 3, "material": 0}
    dull = {"pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.9}, "doubleSided": True}
    about = json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [corners]}],
            "materials": [dull],
            "buffers": [{"byteLength": len(content)}],
            "bufferViews": views,
            "accessors": accessors,
        }
    ).encode()
    about += b" " * (-len(about) % 4)
    chunks = struct.pack("<I4s", len(about), b"JSON") + about + struct.pack("<I4s", len(content), b"BIN\0") + content
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _normals(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(n, 3) of unit length: means over the triangles around each corner, weighted by their areas."""
    a, b, c = np.moveaxis(points[faces], 1, 0)
    area, out = np.cross(b - a, c - a), np.zeros_like(points, dtype=float)
    for k in range(3):
        np.add.at(out, faces[:, k], area)
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(length > 0.0, out / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 1.0))
