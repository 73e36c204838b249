"""Flexible bodies: meshes of tetrahedra, elastic materials, their masses, forces and stiffness. Knows nothing of
contact, mechanisms or time steps.

    mesh = fem.block(size=(1.0, 0.1, 0.1), cells=(20, 2, 2))
    steel = fem.Elastic(young=2.1e11, poisson=0.3, density=7800.0)
    elements = fem.Elements([mesh], [steel])
    elements.evaluate(x, force=force, stiffness=stiffness)"""

from delassus.fem.elastic import Elastic
from delassus.fem.elements import Elements, Evaluation
from delassus.fem.files import read_mesh, write_vtu
from delassus.fem.group import TANGENTS
from delassus.fem.kinds import KINDS, ElementKind
from delassus.fem.laws import LAWS, Law, Response
from delassus.fem.mesh import Mesh
from delassus.fem.section import Section
from delassus.fem.solids import block, cylinder
from delassus.fem.statics import Equilibrium, equilibrium
from delassus.fem.vibration import Vibrations, frequencies

__all__ = [
    "KINDS",
    "LAWS",
    "TANGENTS",
    "Elastic",
    "ElementKind",
    "Elements",
    "Equilibrium",
    "Evaluation",
    "Law",
    "Mesh",
    "Response",
    "Section",
    "Vibrations",
    "block",
    "cylinder",
    "equilibrium",
    "frequencies",
    "read_mesh",
    "write_vtu",
]
