"""Random trees of bodies with random tendons and couplings over them: nothing is passed, nothing gains energy."""

import numpy as np
import pytest

from delassus import Memory, ModelBuilder, Plane, Sphere, StepSettings, step
from delassus.dynamics.forces import lengths_of, total_energy

COORDINATES = {
    "revolute": ("angle",),
    "prismatic": ("position",),
    "universal": ("first", "second"),
    "cylindrical": ("position", "angle"),
}


def mechanism(rng):
    """Two to six bodies that hang on each other or on the world, the first of them as balls over a floor."""
    builder = ModelBuilder()
    if rng.random() < 0.5:
        builder.fixed("ground", shapes=Plane(), material=0.5)
    places, names = {"world": np.array([0.0, 0.0, rng.uniform(0.3, 3.0)])}, []
    for k in range(int(rng.integers(2, 7))):
        base = str(rng.choice(list(places)))
        at, along, mass = places[base] + 0.05 * rng.normal(size=3), rng.normal(size=3), 10 ** rng.uniform(-1, 1)
        along *= 0.2 / np.linalg.norm(along)
        inertia = 0.01 * mass * np.array([1.0, 1.2, 0.9])
        name, shapes = f"b{k}", [Sphere(0.06)] if k == 0 else []
        builder.body(name, position=at + along, mass=mass, inertia=inertia, shapes=shapes)
        kind, axis = str(rng.choice(list(COORDINATES))), rng.normal(size=3)
        armature = float(10 ** rng.uniform(-3, 0)) if rng.random() < 0.3 else 0.0
        builder.joint(
            kind, None if base == "world" else base, name, position=at, axis=axis, name=f"j{k}", armature=armature
        )
        places[name] = at + 2.0 * along
        names += [f"j{k}.{coordinate}" for coordinate in COORDINATES[kind]]
    for _ in range(int(rng.integers(1, 5))):
        builder.tendon(terms(rng, names), **words(rng))
    return builder.build()


def terms(rng, names):
    """Over some coordinates, a third of them bent."""
    chosen = rng.choice(names, size=min(len(names), int(rng.integers(1, 5))), replace=False)
    bent = rng.random(len(chosen)) < 0.3
    return {str(c): (0.0, rng.normal(), 0.3 * rng.normal()) if b else rng.normal() for c, b in zip(chosen, bent)}


def words(rng):
    """What acts along it: limits in most, the rest in some."""
    out, way = {}, rng.random()
    if way < 0.8:
        out["limits"] = (0.0, 0.0) if way < 0.15 else (-rng.uniform(0.0, 0.5), rng.uniform(0.0, 0.5))
    for word, share, most in (("stiffness", 0.2, 50.0), ("damping", 0.3, 1.0), ("friction", 0.2, 0.5)):
        if rng.random() < share:
            out[word] = rng.uniform(0.0, most)
    if rng.random() < 0.2 or not out:
        out["armature"] = float(10 ** rng.uniform(-3, 0))
    return out


def check(seed, steps=100):
    model, state = mechanism(np.random.default_rng(seed))
    memory, couplings, energy = Memory(), model.couplings, sum(total_energy(model, state))
    size = abs(energy) + 1.0
    for _ in range(steps):
        state, report = step(model, state, None, StepSettings(h=2e-3), memory)
        assert report.ok, (seed, report)
        length, now = lengths_of(model, state)[0], sum(total_energy(model, state))
        # where paths are bent, what is met fast is passed by as much as a second derivative makes of a step
        assert np.maximum(length - couplings.upper, couplings.lower - length).max() < 2e-3, seed
        assert now - energy < 1e-2 * size, seed
        energy = now


@pytest.mark.parametrize("seed", range(8))
def test_random_tendons(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 120))
def test_many_random_tendons(seed):
    check(seed, 250)
