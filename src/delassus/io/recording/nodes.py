"""What steps of flexible bodies keep beside what all steps keep.

Per step: nodes, node_velocity (n_n, 3) after it [m, m/s]; welds/force (n_w, 3) mean force of each weld on its node [N].
Per contact: contacts/flexible (2,) numbers of the flexible bodies A and B, −1 for others; contacts/nodes (4,), −1 for
none, and contacts/weights (4,): a force f on B acts with weight · f on each of its nodes.
Stresses and strain energies follow from the nodes and the model, and are computed when they are asked for: they would
take as much room again.

A step takes 48 bytes a node, 24 more where it is welded, and 56 a contact more than rigid bodies do.
"""

import numpy as np

from delassus.collision import Contacts
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
    return report.solution.reactions[report.rows.welds].reshape(-1, 3) / report.h


def flexible_of(model: Model, contacts: Contacts) -> np.ndarray:
    """(n, 2) numbers of the flexible bodies of contacts, −1 for others."""
    first = model.shapes.count  # surfaces of flexible bodies are numbered after all shapes
    return np.where(contacts.shapes >= first, contacts.shapes - first, -1)


def keep_nodes(
    model: Model,
    state: State,
    report: StepReport,
    step: int,
    contact: int,
    steps: tuple[np.ndarray, ...],
    touching: tuple[np.ndarray, ...],
) -> None:
    """Write what a step did into row `step`, and its contacts from row `contact` on."""
    contacts = report.contacts
    steps[0][step], steps[1][step], steps[2][step] = state.nodes, state.node_velocity, welding(report)
    rows = slice(contact, contact + len(contacts))
    touching[0][rows] = flexible_of(model, contacts)
    if contacts.nodes is None or contacts.weights is None:
        touching[1][rows], touching[2][rows] = -1, 0.0
    else:
        touching[1][rows], touching[2][rows] = contacts.nodes, contacts.weights
