"""The page of growth runs, and finds cliffs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import growth  # noqa: E402 - a script of the checkout


def test_a_case_dearer_than_twice_its_size_is_found():
    rows = [{"n": n, "ms": ms} for n, ms in ((10, 1.0), (30, 29.2), (40, 0.5), (60, 0.9), (100, 25.0))]
    assert growth.cliffs(rows) == ["10 take 1 ms a step, 40 only 0.5", "30 take 29.2 ms a step, 60 only 0.9"]


@pytest.mark.slow
def test_small_cases_have_no_cliffs():
    command = [sys.executable, str(ROOT / "benchmarks" / "growth.py"), "--small", "--steps", "10"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
