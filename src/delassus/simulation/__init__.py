"""One step after the other, with what it reports and remembers: `step` (one_step.py) takes one, `simulate`
(many_steps.py) takes many."""

from delassus.simulation.equilibrium import equilibrate as equilibrate
from delassus.simulation.many_steps import simulate as simulate
from delassus.simulation.memory import Memory as Memory
from delassus.simulation.one_step import step as step
from delassus.simulation.report import StepReport as StepReport
from delassus.simulation.settings import StepSettings as StepSettings
