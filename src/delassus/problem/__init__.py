"""The one-step problem in both views, its islands, its scaling, and random instances."""

from delassus.problem.partition import islands as islands
from delassus.problem.partition import partition as partition
from delassus.problem.problem import Problem as Problem
from delassus.problem.scaling import Scaling as Scaling
from delassus.problem.scaling import normalise as normalise
