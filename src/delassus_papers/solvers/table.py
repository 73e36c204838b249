"""The published solvers as lines of `delassus.SOLVERS`."""

from functools import partial
from typing import Any

from delassus.law import Law
from delassus.solvers.driver import ALL_ROWS, Solver
from delassus.solvers.interior.inexact.method import start_ipm_inexact
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.table import ANY, CONVEX, EXACT, admm_line, splitting_line, start_pgj
from delassus_papers.solvers.settings import ThesisIpm, has_masses
from delassus_papers.solvers.thesis import ThesisMethod

UNCHANGED: dict[str, Any] = {
    "scaled": False,
    "joints": "split",
    "every": 1,
    "patience": 1.0,
    "moved": 1.0,
    "anderson": 0,
}
"""What makes `Admm` the published method: no scaling, no elimination, no extrapolation, a factorisation for every move
of the penalty. Tsounis et al. 2025 do not print the over-relaxation; 1.6 lies where Boyd et al. 2011 advise it."""

LINES = [
    splitting_line(
        "nbgs-preclik",
        EXACT,
        "Preclik et al. 2018 as in Tsounis et al. 2025, Alg. 4–5",
        "the published nbgs: contacts by the quartic of eq. 152, which is not Coulomb's law where blocks couple",
        local="conic",
    ),
    Solver(
        ThesisIpm(solver="ipm-mangoni", linear="saddle", start="nocedal", lengths="separate", inside=1.0),
        (Law.FRICTIONLESS,),
        ALL_ROWS,
        "Mangoni, PhD thesis, §4.5, algorithm 1, as published",
        "to compare with: the published predictor-corrector with its start and matrix, nothing added; no friction",
        ThesisMethod,
        also=has_masses,
    ),
    Solver(
        ThesisIpm(solver="ipm-thesis"),
        CONVEX,
        ALL_ROWS,
        "Mangoni, PhD thesis, §4.11, §4.14; Mangoni and Tasora, §2",
        "to compare with: the published predictor-corrector with cones, by the linear systems of `ipm`",
        ThesisMethod,
    ),
    splitting_line(
        "pgs-ccp-plain",
        ANY,
        "Tasora et al. as in Tsounis et al. 2025, Alg. 2, 5",
        "pgs-ccp as published, without backing off: to compare with",
        local="ccp",
    ),
    splitting_line(
        "pgs-ncp-plain",
        EXACT,
        "Tsounis et al. 2025, Alg. 3, 5",
        "pgs-ncp as published, without backing off: to compare with",
        local="ncp",
    ),
    admm_line(
        "admm-ccp-plain",
        CONVEX,
        "Tsounis et al. 2025, Alg. 6",
        "admm-ccp as published, joints and contacts alike, unscaled: to compare with",
        eta=0.0,
        **UNCHANGED,
    ),
    admm_line(
        "admm-ncp-fp-plain",
        EXACT,
        "Tsounis et al. 2025, Alg. 6",
        "admm-ncp-fp as published, rho = 1 in whatever units: to compare with",
        **UNCHANGED,
    ),
    admm_line(
        "admm-ncp-la-plain",
        EXACT,
        "Tsounis et al. 2025, Alg. 6, eq. 171",
        "admm-ncp-la as published: to compare with",
        penalty="linear",
        **UNCHANGED,
    ),
    admm_line(
        "admm-ncp-sa-plain",
        EXACT,
        "Carpentier et al. 2024 as in Tsounis et al. 2025, Alg. 6, eq. 172",
        "admm-ncp-sa as published: to compare with",
        penalty="spectral",
        **UNCHANGED,
    ),
    Solver(
        IpmInexact(
            solver="ipm-kleinert",
            stop="euclidean",
            accuracy=1e-5,
            scalar=True,
            order="natural",
            scaled=False,
            first=0.1,
        ),
        ANY,
        ALL_ROWS,
        "Kleinert et al. 2014, Algorithm 1, §5.1, §5.2.2",
        "as published, to compare with: SI units, scalar IC(0), 0.25 N s to start with; exact friction by eq. 13",
        partial(start_ipm_inexact, pgj=start_pgj),
        forms_delassus=True,
    ),
]
