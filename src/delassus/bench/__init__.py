"""Solvers against problems: samples, suites, runs, metrics, report (Tsounis et al. 2025, §VII)."""

from delassus.bench.sample import Sample as Sample
from delassus.bench.suites import SUITES as SUITES
from delassus.bench.suites import Suite as Suite
from delassus.problem.describe import category_of as category_of
