"""Other people's solvers behind one call, where they are installed. Each gets its own best form of the problem, and its
answer goes to our judge like everybody's."""

from collections.abc import Callable
from dataclasses import dataclass

from delassus.bench.peers import conic, pinocchio, siconos
from delassus.bench.peers.answer import Answer
from delassus.errors import SettingsError
from delassus.problem import Problem
from delassus.tables import Table


@dataclass(frozen=True)
class Peer:
    """available: is it installed; solve: (variant, problem, tol, time_limit) → Answer. Those that try several of their
    own tolerances stop at the first that our judge accepts, velocities included."""

    name: str
    summary: str
    available: Callable[[], bool]
    solve: Callable[[str, Problem, float, float], Answer]


PEERS: Table[Peer] = Table(
    "peer",
    lambda line: isinstance(line, Peer),
    lambda line: line.name,
    [
        Peer("clarabel", "interior point, convex relaxation only", conic.has_clarabel, conic.solve_clarabel),
        Peer("scs", "operator splitting, convex relaxation only", conic.has_scs, conic.solve_scs),
        Peer("pinocchio-admm", "Pinocchio's ADMM on the dense Delassus matrix", pinocchio.available, pinocchio.admm),
        Peer("pinocchio-pgs", "Pinocchio's Gauß–Seidel on the same", pinocchio.available, pinocchio.pgs),
        Peer("siconos", "siconos:NSGS, siconos:NSN_AC, siconos:ADMM …", siconos.available, siconos.solve),
    ],
)
"""Every peer by name, plug-ins included; what follows a colon is its variant."""


def find_peer(name: str) -> Peer:
    """The peer of that name, if it can be run here."""
    base = name.partition(":")[0]
    peer = PEERS.find(base)
    if not peer.available():
        raise SettingsError(f"{base} is not installed: pip install 'delassus[peers]', or apt-get for Siconos")
    return peer


def peer_solve(name: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """One solve by a peer."""
    return find_peer(name).solve(name.partition(":")[2], problem, tol, time_limit)
