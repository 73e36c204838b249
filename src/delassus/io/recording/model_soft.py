"""Flexible bodies, springs and bushings of a recording's model: meshes, materials, surfaces and welds are kept as they
were given, and everything else is made of them again by the classes that made it first, which check what they get."""

from dataclasses import asdict
from typing import Any

import numpy as np

from delassus.errors import FileError
from delassus.fem import Elastic, Elements, Mesh
from delassus.forces import FORCES, Forces, Pairs
from delassus.io.recording.model_check import fail, starts, within
from delassus.model.flexible import Flexible, Welds

_SKIN = ("group", "mask", "self_contact")
_PAIRS = ("bodies", "nodes", "origin", "axes", "rest", "stiffness", "damping")
_UPPER = 32  # bits of the second number of an excluded pair


def pack_flexible(flexible: Flexible) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """(arrays, texts) of the flexible bodies."""
    elements, surface = flexible.elements, flexible.surface
    sets = [(b, name, nodes) for b, mesh in enumerate(elements.meshes) for name, nodes in mesh.sets.items()]
    arrays = {
        "flexible/nodes": elements.rest,
        "flexible/node_start": elements.node_start,
        "flexible/elements": np.concatenate([mesh.elements.ravel() for mesh in elements.meshes]),
        "flexible/sets": np.concatenate([np.zeros(0, np.int64), *(nodes for _, _, nodes in sets)]).astype(np.int64),
        "flexible/load": flexible.load,
        **{f"welds/{name}": getattr(flexible.welds, name) for name in ("node", "body", "point", "velocity")},
    }
    if surface is not None:
        arrays |= {f"surface/{name}": getattr(surface, name) for name in (*_SKIN, "triangles", "triangle_body")}
        arrays |= {"surface/material": surface.material[:, :3], "surface/excluded": surface.excluded}
    texts = {
        "flexible": {
            "names": flexible.names,
            "mass": elements.mass,
            "materials": [asdict(m) for m in elements.materials],
            "element_sizes": [mesh.elements.shape for mesh in elements.meshes],
            "welds": flexible.welds.names,
            "sets": [[b, name, len(nodes)] for b, name, nodes in sets],
            "surface": None if surface is None else surface.names,
        }
    }
    return arrays, texts


def flexible_from(arrays: dict[str, np.ndarray], texts: dict[str, Any], bodies: int) -> Flexible | None:
    """Inverse of `pack_flexible`."""
    said = texts.get("flexible")
    if said is None:
        return None
    meshes, names = _meshes(arrays, said), tuple(str(name) for name in said["names"])
    if not len(meshes) == len(said["materials"]) == len(names):
        fail("flexible", "has other numbers of names, meshes and materials")
    materials = [Elastic(**(m | {"damping": tuple(m["damping"])})) for m in said["materials"]]
    elements = Elements(meshes, materials, said["mass"])
    node, body, point, velocity = (arrays[f"welds/{name}"] for name in ("node", "body", "point", "velocity"))
    welds = Welds(node, body, point, velocity, tuple(said["welds"]))
    count = welds.count
    if welds.body.shape != (count,) or not welds.point.shape == welds.velocity.shape == (count, 3):
        fail("welds", "have other numbers of nodes, bodies and points")
    within("welds/node", welds.node, 0, elements.node_count)
    within("welds/body", welds.body, -1, bodies)
    load = arrays["flexible/load"]
    if load.shape != (elements.node_count, 3) or not np.isfinite(load).all():
        fail("flexible/load", "is not one force for each node")
    sets = {
        f"{name}.{key}": elements.node_start[b] + np.asarray(nodes)
        for b, (name, mesh) in enumerate(zip(names, meshes))
        for key, nodes in mesh.sets.items()
    }
    return Flexible(names, elements, _surface(arrays, said, elements.rest), welds, sets, load)


def _meshes(arrays: dict[str, np.ndarray], said: dict[str, Any]) -> list[Mesh]:
    nodes, start, sizes = arrays["flexible/nodes"], arrays["flexible/node_start"], said["element_sizes"]
    starts("flexible/node_start", start, len(sizes), len(nodes))
    numbers, members = arrays["flexible/elements"], arrays["flexible/sets"]
    meshes, first, at = [], 0, 0
    for b, (count, width) in enumerate(sizes):
        own: dict[str, np.ndarray] = {}
        for owner, name, length in said["sets"]:
            if owner == b:
                own[str(name)] = members[at : at + length]
                at += length
        elements = numbers[first : first + count * width].reshape(count, width)
        first += count * width
        meshes.append(Mesh(nodes[start[b] : start[b + 1]], elements, own))
    if first != len(numbers) or at != len(members):
        fail("flexible/elements", "and flexible/sets are not divided among the meshes")
    return meshes


def _surface(arrays: dict[str, np.ndarray], said: dict[str, Any], rest: np.ndarray) -> Any:
    if said["surface"] is None:
        return None
    from delassus.collision.instances import FIXTURES
    from delassus.collision.surface import Skin, surface_arrays

    found = {name: arrays[f"surface/{name}"] for name in (*_SKIN, "triangles", "triangle_body", "material", "excluded")}
    skins = [
        Skin(
            found["triangles"][found["triangle_body"] == b],
            float(mu),
            float(restitution),
            int(found["group"][b]),
            int(found["mask"][b]),
            float(margin),
            bool(found["self_contact"][b]),
            str(name),
        )
        for b, (name, (margin, mu, restitution)) in enumerate(zip(said["surface"], found["material"]))
    ]
    keys = found["excluded"].astype(np.int64)
    first, owner = keys >> _UPPER, keys & ((1 << _UPPER) - 1)
    pairs = list(zip(first.tolist(), owner.tolist()))
    return surface_arrays(
        rest,
        skins,
        exclude=[pair for pair in pairs if pair[1] < FIXTURES],
        exclude_fixed=[(a, b - FIXTURES) for a, b in pairs if b >= FIXTURES],
    )


def pack_forces(forces: Forces) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """(arrays, texts) of springs, bushings and their like."""
    arrays = {f"force-{k}/{name}": getattr(p, name) for k, p in enumerate(forces.pairs) for name in _PAIRS}
    kinds = [[pairs.kind.name, list(names)] for pairs, names in zip(forces.pairs, forces.pair_names)]
    return arrays, {"forces": kinds, "own_forces": [one.name for one in forces.own]}


def forces_from(arrays: dict[str, np.ndarray], texts: dict[str, Any], bodies: int, nodes: int) -> Forces | None:
    """Inverse of `pack_forces`, without the user's own."""
    if "forces" not in texts:
        return None
    pairs, pair_names = [], []
    for k, (name, names) in enumerate(texts["forces"]):
        if name not in FORCES:
            raise FileError(f"force-{k} is a {name!r}, which is no force here: register it first, if it is your own")
        kind, n = FORCES[name], len(names)
        m = kind.size
        shapes = ((n, 2), (n, 2), (n, 2, 3), (n, 2, 3, 3), (n, m), (n, m, m), (n, m, m))
        found = [arrays[f"force-{k}/{key}"] for key in _PAIRS]
        for key, array, shape in zip(_PAIRS, found, shapes):
            wanted = np.int64 if key in ("bodies", "nodes") else np.float64
            if array.shape != shape or array.dtype != wanted or not np.isfinite(array).all():
                fail(f"force-{k}/{key}", f"is {array.dtype} {array.shape}, expected finite {shape}")
        within(f"force-{k}/bodies", found[0], -1, bodies)
        within(f"force-{k}/nodes", found[1], -1, nodes)
        pairs.append(Pairs(kind=kind, body_count=bodies, **dict(zip(_PAIRS, found))))
        pair_names.append([str(one) for one in names])
    return Forces(pairs, pair_names)
