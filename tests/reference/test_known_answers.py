"""Textbook answers (known_answers.py), each at its own time step."""

import pytest
from known_answers import SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_has_its_textbook_answer(scenario):
    seen, expected, error = scenario.error(scenario.h)
    assert error <= scenario.tol, f"{seen} instead of {expected}"


@pytest.mark.slow
def test_scenarios_have_names_of_their_own():
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS) >= 60
