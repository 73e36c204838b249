"""The five papers: what each says in a sentence, and its tables and numbered figures that show results."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Paper:
    """cited: author and year, as on pages. results: every table and numbered figure that shows results, and what it
    shows; sections that only the text discusses may stand here, too. not_tested: why, for those no experiment shows."""

    cited: str
    title: str
    says: str
    results: dict[str, str]
    not_tested: dict[str, str] = field(default_factory=dict)


PAPERS: dict[str, Paper] = {
    "mangoni": Paper(
        "Mangoni, PhD thesis",
        "Interior-point methods for non-smooth multibody dynamics (D. Mangoni, Parma)",
        "A primal-dual interior point with Mehrotra's predictor-corrector solves contact problems of rigid and "
        "flexible bodies in a number of iterations that hardly depends on their size, whatever the masses.",
        {
            "Table 5.1": "iterations with nothing, velocities or everything taken from the step before",
            "Figure 5.2": "convergence, balls in the box",
            "Table 5.3": "iterations over the number of balls",
            "Figure 5.4": "convergence, three-point bending",
            "Figure 5.6": "iterations over the height of stacks, equal and odd masses",
            "§4.5": "sensitivity to the starting point",
            "§4.11": "fallback where a warm start fails",
            "§5.3.2": "three-point bending: longest stable steps",
            "§5.3.3": "stacked spheres: how many stand",
        },
    ),
    "mangoni-tasora": Paper(
        "Mangoni and Tasora",
        "Solving unilateral contact problems in multibody dynamics using a primal-dual interior point method "
        "(D. Mangoni and A. Tasora, Parma)",
        "An interior point solves contacts without friction in a small number of iterations, of any number of bodies.",
        {
            "Abstract": "odd mass ratios against other methods",
            "§2.4": "starting points: failures of one, robustness of the other",
            "Figure 1": "balls falling in a box, convergence",
            "Table 1": "iterations over the size of the matrix, balls in a box",
            "Table 2": "iterations with warm starts",
            "§4.3": "redundant constraints and contact stiffness",
        },
    ),
    "heyn": Paper(
        "Heyn et al. 2013",
        "Using Krylov subspace and spectral methods for solving complementarity problems in many-body contact dynamics "
        "simulation (T. Heyn, M. Anitescu, A. Tasora and D. Negrut)",
        "GPMINRES, preconditioned SPG-FB and Kučera's method scale better than projected Jacobi and Gauß–Seidel.",
        {
            "Figure 3": "test problem 1: the settled heap",
            "Figure 4": "objective over iterations, test problem 1",
            "Table 1": "objective, smallest and largest reaction, time, test problem 1",
            "Figure 5": "the reactions sorted, test problem 1",
            "Figure 6": "objective and residual, 1 000 spheres in a cylinder",
            "Figure 7": "objective and residual, 2 000 spheres",
            "Figure 8": "objective and residual, 4 000 spheres",
            "Figure 9": "feasibility in the end, 1 000 spheres",
            "Figure 10": "size of the active set, GPMINRES and Kučera",
            "Figure 11": "test problem 3: spheres under a heavy cylinder",
            "Figure 12": "normalised objective for three masses of the cylinder",
            "Figure 13": "residual for the three masses",
            "§4.3": "the preconditioner of P-SPG-FB",
            "§5.2": "test problem 2 in words",
            "§5.3": "test problem 3 in words",
            "§5 (opening)": "Gauß–Seidel against Jacobi",
            "§6": "conclusions",
        },
    ),
    "tsounis": Paper(
        "Tsounis et al. 2025",
        "On solving the dynamics of constrained rigid multi-body systems with kinematic loops "
        "(V. Tsounis, R. Grandia and M. Bächer)",
        "Ten solvers of two families, projective splitting and ADMM, on one footing: how they treat problems that "
        "joints, loops, limits and frictional contacts couple, by metrics that suit all of them.",
        {
            "§III": "the dual problem, and warm starts of its solvers",
            "§V": "constraint softening: what it gains and costs",
            "Figure 6": "impedance over the residual, for midpoints and powers of its shape",
            "§VI": "the ten solvers: projectors, relaxation, stops, the proximal term, penalties",
            "Table I": "definition of the ten solvers",
            "§VII": "categories, metrics and performance profiles over the suite",
            "Figure 8": "the suite of machines",
            "Table II": "dimensions of the thirteen systems",
        },
        {"§VIII": "the section with the paper's own results is not in the text at hand: no claim is cited from it"},
    ),
    "kleinert": Paper(
        "Kleinert et al. 2014",
        "An inexact interior point method for the large-scale simulation of granular material "
        "(J. Kleinert, B. Simeon and M. Obermayr)",
        "An interior point whose linear systems are regularised, preconditioned with incomplete Cholesky factors and "
        "solved by BiCGstab substantially improves on the accuracy of projected Gauß–Jacobi.",
        {
            "Figure 1": "a blade through a trench of grains",
            "Figure 6": "two valid solutions of a hyperstatic contact problem",
            "Figure 7": "the two test problems",
            "Figure 8": "spread of the eigenvalues",
            "Figure 9": "Krylov solvers and preconditioners",
            "Figure 10": "path-following against potential reduction",
            "Figure 11": "projected Gauß–Jacobi against interior point, two sizes",
            "§1": "what stopping projected Gauß–Jacobi early does to forces and compliance",
            "§4.6": "rank deficiency of contact problems",
            "§5.1": "sizes of the test problems",
            "§5.2.1": "regularisation and preconditioning",
            "§5.2.2": "Krylov solvers",
            "§5.2.3": "path-following against potential reduction",
            "§5.2.4": "iterations and time against projected Gauß–Jacobi",
            "§6": "accuracy against projected Gauß–Jacobi; a start by it",
        },
    ),
}
"""By key, in the order of the pages."""
