"""What steps of flexible bodies keep beside what all steps keep; and the meshes it is about, once.

Per step: nodes, node_velocity (n_n, 3) after it [m, m/s]; welds/force (n_w, 3) mean force of each weld on its node [N].
Per contact: contacts/flexible (2,) numbers of the flexible bodies A and B, −1 for others; contacts/nodes (4,), −1 for
none, and contacts/weights (4,): a force f on B acts with weight · f on each of its nodes.
Once, in the first part: mesh/…, from which elements, and so stresses and energies, are made again when they are asked
for: they follow from the nodes, and would take as much room again.

A step takes 48 bytes a node, 24 more where it is welded, and 56 a contact more than rigid bodies do.
"""

import numpy as np

from delassus.errors import DelassusError, FileError
from delassus.fem import Elastic, Elements, Mesh
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import StepReport

OF_STEPS = ("nodes", "node_velocity", "welds/force")
OF_CONTACTS = ("contacts/flexible", "contacts/nodes", "contacts/weights")
_NODES = 4  # that a contact touches at most


def step_room(model: Model, n: int) -> tuple[np.ndarray, ...]:
    """For n steps, in the order of OF_STEPS; nothing where nothing is flexible."""
    if model.flexible is None:
        return ()
    nodes, welds = model.node_count, model.flexible.welds.count
    return np.empty((n, nodes, 3)), np.empty((n, nodes, 3)), np.empty((n, welds, 3))


def contact_room(model: Model, n: int) -> tuple[np.ndarray, ...]:
    """For n contacts, in the order of OF_CONTACTS."""
    if model.flexible is None:
        return ()
    return np.empty((n, 2), np.int32), np.empty((n, _NODES), np.int32), np.empty((n, _NODES))


def welding(report: StepReport) -> np.ndarray:
    """(n_w, 3) mean force of each weld on its node in one step [N]."""
    last = len(report.rows.residual)
    return report.solution.reactions[last - report.rows.weld_rows : last].reshape(-1, 3) / report.h


def keep_nodes(
    model: Model, state: State, report: StepReport, step: int, contact: int, steps: tuple[np.ndarray, ...],
    touching: tuple[np.ndarray, ...],
) -> None:  # fmt: skip
    """Write what a step did into row `step`, and its contacts from row `contact` on."""
    contacts = report.contacts
    steps[0][step], steps[1][step], steps[2][step] = state.nodes, state.node_velocity, welding(report)
    rows = slice(contact, contact + len(contacts))
    first = model.shapes.count  # surfaces of flexible bodies are numbered after all shapes
    touching[0][rows] = np.where(contacts.shapes >= first, contacts.shapes - first, -1)
    if contacts.nodes is None or contacts.weights is None:
        touching[1][rows], touching[2][rows] = -1, 0.0
    else:
        touching[1][rows], touching[2][rows] = contacts.nodes, contacts.weights


def mesh_arrays(model: Model) -> dict[str, np.ndarray]:
    """The flexible bodies of a model: enough to make their elements again, and to say what is welded to what."""
    flexible = model.flexible
    if flexible is None:
        return {}
    elements = flexible.elements
    width = [mesh.elements.shape[1] for mesh in elements.meshes]
    return {
        "mesh/names": _texts(flexible.names), "mesh/mass": _texts([elements.mass]), "mesh/rest": elements.rest,
        "mesh/node_start": elements.node_start, "mesh/element_start": elements.element_start,
        "mesh/width": np.array(width, np.int64),
        "mesh/elements": np.concatenate([mesh.elements.ravel() for mesh in elements.meshes]).astype(np.int64),
        "mesh/law": _texts([m.law for m in elements.materials]),
        "mesh/material": np.array([(m.young, m.poisson, m.density, *m.damping) for m in elements.materials]),
        "mesh/weld_node": flexible.welds.node, "mesh/weld_names": _texts(flexible.welds.names),
    }  # fmt: skip


def elements_from(arrays: dict[str, np.ndarray], label: str) -> Elements:
    """The elements that `mesh_arrays` are of; files may hold anything.  label: of the recording, for the complaint."""
    try:
        rest, nodes, start = arrays["rest"], arrays["node_start"], arrays["element_start"]
        corners, width = arrays["elements"], arrays["width"]
        entry = np.concatenate([[0], np.cumsum(np.diff(start) * width)])
        meshes = [
            Mesh(rest[nodes[b] : nodes[b + 1]], corners[entry[b] : entry[b + 1]].reshape(-1, int(width[b])))
            for b in range(len(width))
        ]
        materials = [
            Elastic(young, poisson, density, law=law, damping=(alpha, beta))
            for (young, poisson, density, alpha, beta), law in zip(arrays["material"].tolist(), texts(arrays["law"]))
        ]
        return Elements(meshes, materials, texts(arrays["mass"])[0])
    except (DelassusError, ValueError, IndexError, TypeError, KeyError) as error:
        raise FileError(f"{label}: mesh/ is not of flexible bodies ({error}): damaged") from None


def texts(array: np.ndarray) -> tuple[str, ...]:
    """Names that are stored as bytes."""
    return tuple(bytes(name).decode("utf-8", "replace") for name in array)


def _texts(names: "tuple[str, ...] | list[str]") -> np.ndarray:
    return np.array([name.encode() for name in names] or [], dtype=np.bytes_ if names else "S1")
