"""trimesh: a mesh file in, its vertices and faces out, or the convex parts that coacd cuts it into. Runs by itself."""

import io
import json
import os
import resource
import signal
import sys
from typing import Any


def main() -> None:
    """Read the request, limit itself, answer."""
    stream = sys.stdin.buffer
    head = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    files = {name: stream.read(size) for name, size in head["files"]}
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (head["memory"], head["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (int(head["seconds"]), int(head["seconds"])))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.dup(1)
    os.dup2(2, 1)  # coacd prints its progress to where the answer goes
    try:
        kind, body = b"A", answer(head["request"], files)
    except Exception as error:
        kind, body = b"E", (str(error).strip() or type(error).__name__).encode()
    with os.fdopen(output, "wb") as out:
        out.write(kind + body)
    os._exit(0)


def answer(request: dict[str, Any], files: dict[str, bytes]) -> bytes:
    """NPZ: vertices0, faces0, vertices1, … of all parts, and how many there are."""
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
    arrays["table"] = np.frombuffer(json.dumps({"parts": len(parts)}).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


if __name__ == "__main__":
    main()
