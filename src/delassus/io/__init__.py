"""Files: FCLIB problems in, solutions out, recordings of simulations both ways."""

from delassus.io.problems import load_problem as load_problem
from delassus.io.problems import save_solution as save_solution
from delassus.io.recording import Recorder as Recorder
from delassus.io.recording import Recording as Recording
