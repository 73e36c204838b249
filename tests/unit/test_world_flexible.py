"""Flexible bodies in a world: by name, pushed, touched, kept, copied and taken back."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from delassus import Box, ModelBuilder, Plane, StepSettings, World, Worlds, fem
from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.simulation import Memory, step
from delassus.simulation.compiled.layout import why_not

GRAVITY = 9.81
SOFT = fem.Elastic(young=1e5, poisson=0.3, density=1000.0, damping=(0.0, 1e-3))
STICKY = fem.Elastic(young=1e5, poisson=0.3, density=1000.0, damping=(15.0, 1e-3))  # comes to rest soon


def two_bodies() -> ModelBuilder:
    """A cantilever, and a soft block on the ground with a lid on top of it."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.5)
    beam = builder.flexible("beam", fem.block(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)), STICKY, position=(0, 0, 0.5))
    builder.weld(beam, "x-")
    cube = fem.block(size=(0.2, 0.2, 0.2), cells=(2, 2, 2))
    builder.flexible("block", cube, STICKY, position=(2, 0, 0.1), material=0.5)
    builder.body("lid", position=(2, 0, 0.21), shapes=Box((0.3, 0.3, 0.02)), density=300.0)
    return builder


def free_block(gravity: tuple[float, float, float] = (0, 0, 0)) -> World:
    builder = ModelBuilder(gravity=gravity)
    builder.flexible("block", fem.block(size=(0.2, 0.1, 0.1), cells=(2, 1, 1)), SOFT)
    return World(*builder.build(), h=5e-3)


@pytest.fixture(scope="module")
def rested() -> World:
    world = World(*two_bodies().build(), h=2e-2)
    world.run(250)
    return world


def test_forces_balance_weights(rested: World) -> None:
    """At rest the weld carries the beam, the ground carries block and lid, and the lid rests on the block."""
    beam, block, lid = rested.body("beam"), rested.body("block"), rested.body("lid")
    assert rested.ok
    np.testing.assert_allclose(beam.reactions["world"], [0, 0, beam.mass * GRAVITY], atol=1e-6)
    np.testing.assert_allclose(beam.reaction("x-"), beam.reactions["world"], rtol=1e-12)
    np.testing.assert_allclose(beam.reaction("x+"), 0.0)
    np.testing.assert_allclose(block.contact_force, [0, 0, block.mass * GRAVITY], atol=1e-6)
    ground = rested.contacts.of("block", "ground")
    np.testing.assert_allclose(ground.force_on("block"), [0, 0, (block.mass + lid.mass) * GRAVITY], atol=1e-6)
    np.testing.assert_allclose(ground.force_on("ground"), -ground.force_on("block"))
    assert {contact.shapes for contact in ground} == {("plane", "surface")}
    assert len(rested.contacts.of("block", "lid").touching) >= 1


def test_contacts_of_a_body_with_itself_are_not_those_with_others(rested: World) -> None:
    assert len(rested.contacts.of("block", "ground")) > 0
    assert len(rested.contacts.of("block", "block")) == 0


def test_names_and_words(rested: World) -> None:
    beam = rested.body("beam")
    assert rested.body_names == ("lid", "ground", "beam", "block")
    assert [body.name for body in rested.bodies] == list(rested.body_names)
    tip = beam.nodes_of("x+")
    assert beam.nodes[tip][:, 2].mean() < 0.5
    np.testing.assert_allclose(beam.displacement[beam.nodes_of("x-")], 0.0, atol=1e-12)
    assert beam.stress.shape == (len(fem.block(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)).elements),)
    largest = np.argmax(beam.stress)  # of a cantilever: where it is held
    elements = rested.model.flexible.elements.meshes[0].elements
    assert rested.model.flexible.elements.rest[elements[largest], 0].mean() < -0.1
    assert beam.strain_energy > 0.0
    assert beam.energy.potential == pytest.approx(beam.strain_energy + beam.mass * GRAVITY * beam.position[2])
    for wrong, said in (("x", "no set 'x'"), ("tipp", "no set 'tipp'")):
        with pytest.raises(ProblemError, match=said):
            beam.nodes_of(wrong)
    with pytest.raises(AttributeError, match=r"body\.set\(nodes=…\)"):
        beam.nodes = 0
    with pytest.raises(ProblemError, match="no body 'beem'"):
        rested.body("beem")


def test_energies_add_up(rested: World) -> None:
    """The world's energy is that of its bodies, now and in the history."""
    moving = [body for body in rested.bodies if body.name != "ground"]
    assert rested.energy.total == pytest.approx(sum(body.energy.total for body in moving), rel=1e-12)
    series = rested.history("world.energy")
    assert series.values[-1] == pytest.approx(rested.energy.total, rel=1e-12)
    parts = [rested.history(f"body:{name}.energy").values for name in ("beam", "block", "lid")]
    np.testing.assert_allclose(np.sum(parts, axis=0), series.values, rtol=1e-12)
    np.testing.assert_allclose(rested.history("body:beam.position").values[-1], rested.body("beam").position)
    assert rested.history("body:beam.largest_stress").values[-1] == pytest.approx(rested.body("beam").stress.max())
    with pytest.raises(ProblemError, match="strain_energi"):
        rested.history("body:beam.strain_energi")


def test_worlds_take_the_steps_of_step() -> None:
    """Fewer than fifty and more: the bits are those of `step`, whatever would be compiled of rigid worlds."""
    model, state = two_bodies().build()
    world, memory, settings = World(model, state, h=1e-2), Memory(), StepSettings(h=1e-2)
    assert "flexible" in why_not(model, world.settings)
    for count in (30, 31):
        world.run(count)
        for _ in range(count):
            state, _ = step(model, state, None, settings, memory)
        assert world.state.hash == state.hash
    assert len(world.history("body:beam.position")) == 62


def test_moments_come_back_to_the_bit(rested: World) -> None:
    world = rested.copy()
    world.body("beam").push((0, 0, -1.0), nodes="x+", seconds=0.025)
    here, other, pickled = world.snapshot(), world.copy(), pickle.loads(pickle.dumps(world))
    for one in (world, other, pickled):
        one.run(10)
    end = world.state.hash
    assert end == other.state.hash == pickled.state.hash != rested.state.hash
    world.restore(pickle.loads(pickle.dumps(here)))
    assert world.state.hash == rested.state.hash
    world.run(10)
    assert world.state.hash == end
    world.reset()
    np.testing.assert_array_equal(world.state.nodes, rested._start.nodes)
    world.state = rested.state
    assert world.state.hash == rested.state.hash
    world.state.nodes[:] = 0.0  # a copy
    assert world.state.hash == rested.state.hash


@pytest.mark.parametrize("seconds", [0.02, 0.0173])
def test_a_push_has_the_impulse_it_says(seconds: float) -> None:
    """On all of a free body, on a set, on a node, on one near a point: momentum is force × seconds."""
    force = np.array([3.0, -1.0, 2.0])
    for how in ({}, {"nodes": "x+"}, {"nodes": [0, 3]}, {"at": (0.1, 0.05, 0.05)}):
        world = free_block()
        world.body("block").push(force, seconds=seconds, **how)
        world.run(6)
        block = world.body("block")
        np.testing.assert_allclose(block.momentum, force * seconds, rtol=1e-9)
        if not how:  # as weight does: nothing bends
            assert block.stress.max() < 1e-6
            np.testing.assert_allclose(block.angular_momentum, 0.0, atol=1e-12)


def test_forces_on_nodes_by_name() -> None:
    world = free_block()
    model, n = world.model, world.model.node_count
    whole = Inputs.of(model, node_force={"block": (1, 0, 0), "block.x+": (0, 2, 0)})
    np.testing.assert_allclose(whole.node_force.sum(axis=0), [1, 2, 0])
    np.testing.assert_allclose(
        whole.node_force[:, 0] * world.body("block").mass, model.flexible.elements.nodal_mass
    )  # shared by mass
    each = np.arange(3.0 * n).reshape(n, 3)
    np.testing.assert_array_equal(Inputs.of(model, node_force=each).node_force, each)
    np.testing.assert_array_equal(Inputs.of(model, node_force={"block": each}).node_force, each)
    acted = World(model, world.state, h=5e-3, inputs=lambda t, state: Inputs.of(model, node_force=each))
    acted.run(4)
    np.testing.assert_allclose(acted.body("block").momentum, each.sum(axis=0) * 0.02, rtol=1e-9)
    for wrong, said in (
        ({"blok": (0, 0, 1)}, "no 'blok'"),
        ({"block": (0, 1)}, "give a force"),
        (np.zeros((2, 3)), "expected"),
    ):
        with pytest.raises(ProblemError, match=said):
            Inputs.of(model, node_force=wrong)
    rigid, state = ModelBuilder().build()
    with pytest.raises(ProblemError, match="no flexible bodies"):
        Inputs.of(rigid, node_force={"a": (0, 0, 1)})
    with pytest.raises(ProblemError, match="the inputs are for"):
        step(rigid, state, whole)


def test_bodies_are_put_somewhere() -> None:
    world = free_block()
    block = world.body("block")
    shape = block.nodes - block.position
    block.set(position=(1, 2, 3), velocity=(0, 0, 1))
    np.testing.assert_allclose(block.position, [1, 2, 3])
    np.testing.assert_allclose(block.nodes - block.position, shape, atol=1e-14)
    np.testing.assert_allclose(block.node_velocity, np.tile([0, 0, 1], (len(shape), 1)))
    block.set(nodes=2.0 * shape)
    np.testing.assert_allclose(block.nodes, 2.0 * shape)
    with pytest.raises(ProblemError, match="has shape"):
        block.set(nodes=shape[1:])
    with pytest.raises(ProblemError, match="numbers from 0"):
        block.push((1, 0, 0), nodes=[99])
    with pytest.raises(ProblemError, match="not both"):
        block.push((1, 0, 0), nodes="x+", at=(0, 0, 0))


def test_what_is_welded_is_not_torn() -> None:
    builder = ModelBuilder()
    hand = builder.body("hand", mass=1.0, inertia=(1, 1, 1))
    soft = builder.flexible("soft", fem.block(size=(0.2, 0.1, 0.1), cells=(2, 1, 1)), SOFT)
    builder.weld(soft, "x-", to=hand)
    world = World(*builder.build(), h=5e-3)
    with pytest.raises(ProblemError, match="'soft' is welded to 'hand'"):
        world.body("hand").set(position=(1, 0, 0))
    world.run(3)  # falls freely: nothing pulls
    np.testing.assert_allclose(world.body("soft").reactions["hand"], 0.0, atol=1e-9)


def test_welds_beside_joints_and_couplings() -> None:
    """Rows of joints, welds and couplings: each weld has its own, and what is held falls with nothing pulling."""
    builder = ModelBuilder()
    hands = [builder.body(f"hand-{k}", position=(0, k, 0), mass=1.0, inertia=(1, 1, 1)) for k in range(2)]
    for k, hand in enumerate(hands):
        builder.joint("prismatic", "world", hand, axis=(0, 0, 1), name=f"slide-{k}")
    builder.coupling({"slide-0": 1.0, "slide-1": -1.0})
    soft = builder.flexible("soft", fem.block(size=(0.2, 0.1, 0.1), cells=(2, 1, 1)), STICKY, position=(0.1, 0, 0))
    builder.weld(soft, "x-", to=hands[0])
    builder.weld(soft, "x+")
    world = World(*builder.build(), h=2e-2)
    world.run(400)
    forces = world.body("soft").reactions
    total = (world.body("soft").mass + 2.0) * GRAVITY  # one clamp carries it all, the slides bear nothing upwards
    assert forces["world"][2] == pytest.approx(total, rel=1e-6)
    assert forces["hand-0"][2] == pytest.approx(-2.0 * GRAVITY, rel=1e-6)
    assert "8 welded nodes" in str(world.report)


def test_forces_are_watched() -> None:
    world = World(*two_bodies().build(), h=1e-2)
    world.watch("body:block.contact_force")
    world.watch("clamp", lambda world: world.body("beam").reaction("x-"))
    world.run(8)
    np.testing.assert_array_equal(
        world.history("body:block.contact_force").values[-1], world.body("block").contact_force
    )
    np.testing.assert_array_equal(world.history("clamp").values[-1], world.body("beam").reactions["world"])
    assert world.history("clamp").values.shape == (8, 3)


def test_films_show_what_bends(tmp_path: Path) -> None:
    pictures = []
    for young in (1e5, 1e9):
        builder = ModelBuilder()
        beam = builder.flexible("beam", fem.block(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)), fem.Elastic(young))
        builder.weld(beam, "x-")
        world = World(*builder.build(), h=1e-2)
        world.run(10)
        world.film(tmp_path / "film.gif", fps=10)
        pictures.append((tmp_path / "film.gif").read_bytes())
    assert pictures[0].startswith(b"GIF")
    assert pictures[0] != pictures[1]


def test_histories_of_many_nodes_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that do not fit are thinned; the last of what is kept is right."""
    monkeypatch.setattr("delassus.world.history.MOST_BYTES", 1)
    world = free_block()
    world.body("block").set(velocity=(1, 0, 0))
    world.run(100)
    kept = world.history("body:block.position")
    assert len(kept) <= 16
    assert len(world._history.nodes) <= 16
    np.testing.assert_allclose(kept.values[:, 0], kept.t, atol=1e-9)


def test_many_flexible_worlds() -> None:
    """Through `step`, one after the other: as one world each."""
    model, state = two_bodies().build()
    worlds = Worlds(model, state, 2, h=1e-2)
    worlds.node_force[1, :, 1] = 0.01
    worlds.step(3)
    alone = World(model, state, h=1e-2)
    alone.run(3)
    np.testing.assert_array_equal(worlds.nodes[0], alone.state.nodes)
    assert worlds.nodes[1, :, 1].mean() > worlds.nodes[0, :, 1].mean()
    assert not worlds.status.any()
    assert not worlds.troubles
    worlds.reset(np.array([True, False]))
    np.testing.assert_array_equal(worlds.nodes[0], state.nodes)
    worlds.reset(states={"nodes": state.nodes + 1.0})
    np.testing.assert_array_equal(worlds.nodes[1], state.nodes + 1.0)
