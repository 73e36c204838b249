"""The one-step problem in both views, its islands, its scaling, and random instances."""

from delassus.problem.problem import Problem as Problem
