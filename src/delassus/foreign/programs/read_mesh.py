"""trimesh: a mesh file in, its vertices and faces out, or the convex parts that coacd cuts it into. See run.py."""

import io
from typing import Any


def answer(request: dict[str, Any], files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """vertices0, faces0, vertices1, … of all parts; how many there are."""
    import numpy as np

    try:
        import trimesh
    except ImportError:
        raise ImportError("meshes need trimesh: pip install 'delassus[import]'") from None
    mesh: Any = trimesh.load(
        io.BytesIO(files[request["main"]]), file_type=request["ending"], force="mesh", process=True, resolver=None,
        skip_materials=True,
    )  # fmt: skip
    vertices, faces = np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)
    if not len(faces) or not np.isfinite(vertices).all():
        raise ValueError("holds no triangles, or coordinates that are no numbers")
    if len(faces) > request["most"]:
        raise ValueError(f"has {len(faces)} triangles, at most {request['most']} are read: simplify it")
    parts = [(vertices, faces)]
    if request["decompose"]:
        try:
            import coacd
        except ImportError:
            raise ImportError("decompose needs coacd: pip install 'delassus[import]'") from None
        coacd.set_log_level("off")
        parts = coacd.run_coacd(coacd.Mesh(vertices, faces), threshold=request["threshold"], seed=0)
    arrays: dict[str, Any] = {}
    for k, (points, triangles) in enumerate(parts):
        arrays[f"vertices{k}"], arrays[f"faces{k}"] = np.asarray(points, float), np.asarray(triangles, np.int64)
    return arrays, {"parts": len(parts)}
