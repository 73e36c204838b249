"""Every solver behind one interface: `solve(problem, name)`."""

from delassus.solvers.driver import ALL_ROWS as ALL_ROWS
from delassus.solvers.driver import DEFAULT_MAX_ITER as DEFAULT_MAX_ITER
from delassus.solvers.driver import DEFAULT_TOL as DEFAULT_TOL
from delassus.solvers.driver import Solver as Solver
from delassus.solvers.method import Method as Method
from delassus.solvers.settings import Settings as Settings
from delassus.solvers.solution import Solution as Solution
from delassus.solvers.solution import Trace as Trace
from delassus.solvers.solve_many import Solutions as Solutions
from delassus.solvers.solve_many import solve_batch as solve_batch
from delassus.solvers.solve_problem import solve as solve
from delassus.solvers.splitting.method import Splitting as Splitting
from delassus.solvers.table import SOLVERS as SOLVERS
