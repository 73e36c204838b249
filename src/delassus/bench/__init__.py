"""Solvers against problems: samples, suites, peers, runs, metrics, report (Tsounis et al. 2025, §VII)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "PEERS": "delassus.bench.peers",
    "Peer": "delassus.bench.peers",
    "SUITES": "delassus.bench.suites",
    "Sample": "delassus.bench.sample",
    "Suite": "delassus.bench.suites",
    "category_of": "delassus.problem.describe",
}

if TYPE_CHECKING:
    from delassus.bench.peers import PEERS as PEERS
    from delassus.bench.peers import Peer as Peer
    from delassus.bench.sample import Sample as Sample
    from delassus.bench.suites import SUITES as SUITES
    from delassus.bench.suites import Suite as Suite
    from delassus.problem.describe import category_of as category_of


def __getattr__(name: str) -> Any:
    """Loaded on first use: the help of a command must not wait for the compiler behind the kernels."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
