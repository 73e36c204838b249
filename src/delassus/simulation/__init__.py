"""One step after the other: from a state to the next, with what it reports and remembers."""

from delassus.simulation.memory import Memory as Memory
from delassus.simulation.one_step import StepReport as StepReport
from delassus.simulation.one_step import step as step
from delassus.simulation.settings import StepSettings as StepSettings
