"""What every scene of the table promises: it builds, runs, passes its own checks and does the same thing twice."""

import math

import numpy as np
import pytest

from delassus.errors import DelassusError, DelassusWarning, SettingsError
from delassus.scenes import SCENES, find
from delassus.simulation import StepSettings

STEPS = 40
# Smaller, or nearer to what happens in them, than by default; a scene that is not listed runs as it is.
SMALL = {
    "bouncing-ball": {"height": 0.005},
    "boxes-fixed": {"height": 0.001},
    "four-bar-free": {"height": 0.015},
    "nunchuk": {"height": 0.2},
    "pendulum-chain": {"n": 3, "spatial": True},
    "sphere-pile": {"n": 10},
    "heavy-cylinder": {"n": 12, "heavy": 50.0},
    "polydisperse-pile": {"n": 30},
    "blade": {"n": 60, "length": 0.3, "width": 0.1, "blade": 0.05, "rest": 0.2},
    "wall": {"rows": 2, "columns": 2},
    "card-house": {"storeys": 1},
    "ball-into-block": {"cells": 4, "height": 0.01},
    "strip-through-rollers": {"cells": 16},
    "soft-box-drop": {"height": 0.18},
}
# Nobody means these; what a scene does not refuse it must build.
ABSURD = {
    bool: [],
    str: [],
    int: [0, -1, 10**9, 10**30],
    float: [0.0, -1.0, 1e-12, 1e12, -1e12, 1e-320, 1e300, math.nan],
}
NEVER = [1e-320, 1e300]
"""Beyond the range where squares and cubes are numbers; NaN is refused, too."""


def small(name):
    return SCENES[name].build(**SMALL.get(name, {}))


@pytest.mark.parametrize("name", SCENES)
def test_scene_passes_its_checks_and_repeats_itself(name):
    scene = SCENES[name]
    setup = small(name)
    run = setup.run(steps=STEPS)
    checks = scene.check(setup, run)
    assert checks
    assert all(math.isfinite(check.value) and math.isfinite(check.bound) for check in checks)
    assert [check for check in checks if not check.passed] == []
    assert small(name).run(steps=STEPS).state(-1).hash == run.state(-1).hash


@pytest.mark.parametrize("name", SCENES)
def test_scene_documents_itself(name):
    scene = SCENES[name]
    assert scene.name == name
    assert scene.summary
    assert scene.claims
    for parameter in scene.parameters.values():
        assert type(parameter.default) in (bool, int, float, str)
        assert parameter.meaning.rstrip().endswith("]") or "[" in parameter.meaning, f"{parameter.name} has no unit"
        assert parameter.parsed(str(parameter.default)) == parameter.default
    setup = scene.build()
    assert setup.parameters == {name: p.default for name, p in scene.parameters.items()}
    assert setup.steps() * setup.settings.h == pytest.approx(setup.duration)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_scene_as_shipped_passes_its_checks(name):
    setup = SCENES[name].build()
    run = setup.run()
    assert [check for check in SCENES[name].check(setup, run) if not check.passed] == []


@pytest.mark.parametrize("name", SCENES)
def test_absurd_parameters_are_refused_as_misuse_or_built(name):
    """Any other exception than our own, of memory or of arithmetic, fails this, and so does a model that is not sound.
    What nobody can mean is refused by every scene."""
    for parameter in SCENES[name].parameters.values():
        for value in ABSURD[type(parameter.default)]:
            try:
                setup = SCENES[name].build(**{parameter.name: value})
            except (DelassusError, DelassusWarning):  # what overlaps is said
                continue
            assert value not in NEVER, f"{parameter.name}={value} was built"
            assert not math.isnan(value), f"{parameter.name}={value} was built"
            model, state = setup.model, setup.state
            assert (model.mass > 0.0).all()
            assert all(np.isfinite(array).all() for array in (model.mass, model.inertia, state.q, state.u))


def test_a_check_that_fails_says_so():
    """Sliding where the scene claims sticking: friction changed behind the checks' back."""
    scene = SCENES["sliding-block"]
    slides, claims = scene.build(angle=30.0, mu=0.3), scene.build(angle=30.0, mu=0.9)
    failed = [check.name for check in scene.check(claims, slides.run(steps=20)) if not check.passed]
    assert failed == ["creep"]


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(SettingsError, match="did you mean 'four-bar'"):
        find("four-bra")
    with pytest.raises(SettingsError, match="did you mean 'radius'"):
        SCENES["sphere-pile"].build(radios=1.0)
    with pytest.raises(SettingsError, match="n='many' is not a whole number"):
        SCENES["sphere-pile"].parsed({"n": "many"})
    with pytest.raises(SettingsError, match="speed is nan: give zero or a number between"):
        SCENES["wall"].build(speed=math.nan)


def test_endless_runs_are_refused():
    setup = SCENES["bouncing-ball"].build()
    assert setup.steps(1e6) == 10**9
    for duration, h in ((1.1e6, 1e-3), (1e300, 1e-3), (3.0, 1e-12)):
        with pytest.raises(SettingsError, match="at most 1000000000 are taken"):
            setup.steps(duration, StepSettings(h=h))


def test_parameters_are_parsed_by_the_type_of_their_default():
    scene = SCENES["pendulum-chain"]
    assert scene.parsed({"n": "3", "length": "1e-1", "spatial": "yes"}) == {"n": 3, "length": 0.1, "spatial": True}
