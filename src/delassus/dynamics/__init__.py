"""From a model at a configuration to the one-step problem: forces, rows, biases."""

from delassus.dynamics.forces import energy_of as energy_of
from delassus.dynamics.forces import momentum_of as momentum_of
from delassus.dynamics.inputs import Inputs as Inputs
from delassus.dynamics.penalty import Penalty as Penalty
from delassus.dynamics.rows import Rows as Rows
from delassus.dynamics.stabilisation import Stabilisation as Stabilisation
from delassus.dynamics.step_problem import assemble as assemble
from delassus.dynamics.step_problem import reduce as reduce
from delassus.softening import Softening as Softening
from delassus.softening import Spring as Spring
