"""Recordings of flexible bodies: nodes, stresses, forces of welds and contacts; resumed to the bit; ParaView."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from delassus import Box, ModelBuilder, Plane, World, fem
from delassus.dynamics import Penalty
from delassus.errors import FileError, SettingsError
from delassus.io.recording import About, Columns, Recorder, Recording, Trajectory
from delassus.io.recording.parts import part_paths
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepSettings, simulate
from delassus.view.flexible import contact_forces

SETTINGS = StepSettings(h=1e-2)
SOFT = fem.Elastic(young=1e5, poisson=0.3, density=1000.0, damping=(0.0, 1e-3))


def scene() -> tuple[Model, State]:
    """A cantilever, and a quadratic block that falls on the ground with a lid."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.5)
    beam = builder.flexible("beam", fem.block(size=(0.3, 0.1, 0.1), cells=(3, 1, 1)), SOFT, position=(0, 0, 0.5))
    builder.weld(beam, "x-")
    hand = builder.body("hand", position=(0.3, 0, 0.5), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    builder.weld(beam, "x+", to=hand)
    cube = fem.block(size=(0.2, 0.2, 0.2), cells=(1, 1, 1)).quadratic()
    builder.flexible("block", cube, SOFT, position=(2, 0, 0.11), material=0.5)
    builder.body("lid", position=(2, 0, 0.23), shapes=Box((0.3, 0.3, 0.02)), density=300.0)
    return builder.build()


def recorded(folder: Path, steps: range, *, resume: bool = False) -> State:
    """Take these steps into a recording; the last state."""
    model, state = scene()
    about, memory = About.of(model, state, SETTINGS, goal=40), Memory()
    if resume:
        recorder, state, memory = Recorder.resume(folder, about, model)
    else:
        recorder = Recorder.create(folder, about, model, state)
    with recorder:
        return simulate(model, state, None, SETTINGS, steps, memory=memory, watch=lambda k, *now: recorder.add(*now))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flexible")
    recorded(path, range(30))
    return path


def test_resumes_to_the_bit(folder: Path, tmp_path: Path) -> None:
    """n steps and n more, resumed, are 2n at once: states, forces and what the next solve starts from."""
    recorded(tmp_path, range(15))
    end = recorded(tmp_path, range(15, 30), resume=True)
    whole, parts = Recording(folder), Recording(tmp_path)
    assert len(part_paths(tmp_path / "recording")) == 2
    assert whole.state(-1).hash == parts.state(-1).hash == end.hash
    for name in whole.names:
        if not name.startswith(("times/", "memory/")):
            np.testing.assert_array_equal(whole.array(name), parts.array(name), err_msg=name)
    np.testing.assert_array_equal(whole.memory().reactions, parts.memory().reactions)
    for k in (0, 1, 15, 16, 30):
        assert whole.state(k).hash == parts.state(k).hash


def test_states_of_single_steps_read_single_parts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delassus.io.recording.recorder.SAVE_SECONDS", 0.0)
    monkeypatch.setattr("delassus.io.recording.recorder.PART_BYTES", 1)
    recorded(tmp_path, range(6))
    assert len(part_paths(tmp_path / "recording")) > 3
    one = Recording(tmp_path, max_bytes=40_000)  # nodes of all steps would not fit, those of one do
    assert [one.state(k).hash for k in range(7)] == [Recording(folder).state(k).hash for k in range(7)]


def test_what_a_world_says_is_recorded(tmp_path: Path) -> None:
    world = World(*scene(), SETTINGS)
    world.run(25, record=tmp_path)
    run = Recording(tmp_path)
    beam, block = world.body("beam"), world.body("block")
    assert run.flexible_names == ("beam", "block")
    assert run.state(-1).hash == world.state.hash
    np.testing.assert_allclose(run.von_mises(-1), np.concatenate([beam.stress, block.stress]), rtol=1e-12)
    np.testing.assert_allclose(run.strain_energy(-1), [beam.strain_energy, block.strain_energy], rtol=1e-12)
    assert run.total_energy[-1] == pytest.approx(world.energy.total, rel=1e-12)
    assert run.total_energy[0] == pytest.approx(World(*scene()).energy.total, rel=1e-12)
    for name, force in beam.reactions.items():
        np.testing.assert_allclose(run.weld_forces[name][-1], force, rtol=1e-12)
    assert set(run.weld_forces) == {"world", "hand"}
    last = run.contacts(-1)
    np.testing.assert_allclose(last.force_on_flexible(1), block.contact_force, rtol=1e-9)
    assert last.force_on_flexible(1)[2] > 0.0
    np.testing.assert_allclose(last.force_on_flexible(0), 0.0)
    on_nodes = last.node_forces(run.node_count)
    np.testing.assert_allclose(on_nodes.sum(axis=0), last.force_on_flexible(1), rtol=1e-9)
    assert not on_nodes[world.model.flexible.nodes_of("beam")].any()


@pytest.mark.parametrize(
    "settings",
    [
        StepSettings(h=1e-2, integrator="euler"),
        StepSettings(h=1e-2, theta=0.75),
        StepSettings(h=1e-2, integrator="iterated"),
        StepSettings(h=2e-4, integrator="penalty", penalty=Penalty(stiffness=3e4)),
    ],
    ids=["euler", "theta", "iterated", "penalty"],
)
def test_every_integrator_goes_on(tmp_path: Path, settings: StepSettings) -> None:
    """A world that was built, loaded again from its recording: the same bits as if it had not stopped."""
    world = World(*scene(), settings)
    world.run(6, record=tmp_path)
    loaded = World.load(tmp_path)
    for one in (world, loaded):
        one.run(6)
    assert loaded.settings == world.settings
    assert loaded.state.hash == world.state.hash


def test_runs_in_memory_know_the_same(folder: Path) -> None:
    model, state = scene()
    columns = Columns(model, state, SETTINGS.h)
    simulate(model, state, None, SETTINGS, 30, watch=lambda k, now, report, memory: columns.add(now, report))
    run, disk = Trajectory.of(columns), Recording(folder)
    assert [run.state(k).hash for k in range(31)] == [disk.state(k).hash for k in range(31)]
    np.testing.assert_array_equal(run.nodes, disk.nodes)
    np.testing.assert_array_equal(run.von_mises(7), disk.von_mises(7))
    assert "nodes" in repr(run)


def test_bytes_of_a_step(folder: Path) -> None:
    """48 a node, 24 a welded one: as the room of the columns says it."""
    model, state = scene()
    rigid, _ = ModelBuilder().build()
    welds = model.flexible.welds.count
    columns, bare = Columns(model, state, 1e-2), Columns(rigid, State(np.zeros((0, 7)), np.zeros((0, 6))), 1e-2)
    columns.filled = bare.filled = (1, 0, 0, 0)
    assert columns.bytes - bare.bytes == 48 * model.node_count + 24 * welds + 8 * 13 * model.body_count


def test_series_for_paraview(folder: Path, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    run = Recording(folder)
    series, *files = run.write_vtu(tmp_path / "out", every=10)
    assert [path.name for path in files] == [f"flexible-{k:06d}.vtu" for k in (0, 10, 20, 30)]
    assert series.read_text().count("<DataSet") == 4
    assert f'timestep="{float(run.t[20])!r}"' in series.read_text()
    back = meshio.read(files[-1])
    np.testing.assert_allclose(back.points, run.state(-1).nodes, rtol=1e-12)
    np.testing.assert_allclose(back.points - back.point_data["displacement"], run.elements.rest, atol=1e-12)
    np.testing.assert_allclose(back.point_data["velocity"], run.state(-1).node_velocity, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate(back.cell_data["von_mises"]).ravel(), run.von_mises(-1), rtol=1e-12)
    forces = run.contacts(-1).node_forces(run.node_count)
    np.testing.assert_allclose(back.point_data["contact_force"], forces, rtol=1e-12)
    with pytest.raises(SettingsError, match="every"):
        run.write_vtu(tmp_path, every=0)
    rigid, state = ModelBuilder().build()
    with pytest.raises(SettingsError, match="no flexible bodies"):
        Trajectory.of(Columns(rigid, state, 1e-2)).write_vtu(tmp_path)


def test_bodies_and_pairs_by_name(folder: Path) -> None:
    run = Recording(folder)
    block, lid = run.body("block"), run.body("lid")
    for k in (0, 30):
        own = run.flexible.nodes_of("block")
        mass = run.elements.nodal_mass[own]
        np.testing.assert_allclose(block.position[k], mass @ run.nodes[k][own] / mass.sum(), atol=1e-15)
        assert block.strain_energy[k] == pytest.approx(run.strain_energy(k)[1], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(block.contact_force[-1], run.contacts(-1).force_on_flexible(1))
    for pair in (run.between("block", "lid"), run.between("world", "block")):
        assert len(pair.step)
    total = np.zeros((30, 3))
    for other in ("lid", "world"):
        pair = run.between(other, "block")
        np.add.at(total, pair.step, pair.force)
    np.testing.assert_allclose(total, block.contact_force, atol=1e-9)
    shown = contact_forces(run, run.model)  # as the figure has them: of one flexible body that touches all of them
    np.testing.assert_allclose(shown["lid"] + shown["the world"], block.contact_force, atol=1e-9)
    assert not shown["hand"].any()
    np.testing.assert_allclose(run.contacts(-1).force_on(-1), -shown["the world"][-1], atol=1e-9)
    assert not len(run.between("world", "lid").step)  # a flexible side is not the world
    np.testing.assert_allclose(
        lid.contact_force[-1], -run.between("lid", "block").force[run.between("lid", "block").step == 29].sum(axis=0)
    )


def _read_all(path: Path) -> None:
    run = Recording(path)
    run.von_mises(-1)
    run.contacts(-1).node_forces(run.node_count)


@pytest.mark.parametrize("name", ["start/nodes", "nodes", "contacts/nodes"])
def test_damage_is_said(tmp_path: Path, name: str) -> None:
    recorded(tmp_path, range(20))
    (path,) = part_paths(tmp_path / "recording")
    with h5py.File(path, "r+") as file:
        values = file[name][()]
        del file[name]
        if name == "contacts/nodes":
            values[:] = 10**6
        file.create_dataset(name, data=values if name == "contacts/nodes" else values[1:] - 1)
    with pytest.raises(FileError, match=f"(?s){name.split('/')[0]}.*damaged"):
        _read_all(tmp_path)


def test_another_mesh_does_not_continue(folder: Path) -> None:
    builder = ModelBuilder()
    builder.flexible("beam", fem.block(size=(0.3, 0.1, 0.1), cells=(3, 1, 1)), SOFT)
    model, state = builder.build()
    with pytest.raises(FileError, match="another model"):
        Recorder.resume(folder, About.of(model, state, SETTINGS), model)
