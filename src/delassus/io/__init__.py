"""Files: FCLIB problems in, solutions out."""

from delassus.io.problems import load_problem as load_problem
from delassus.io.problems import save_solution as save_solution
