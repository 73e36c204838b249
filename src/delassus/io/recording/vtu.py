"""Flexible bodies of a run as files for ParaView: one per instant, and one that says when each of them is."""

from pathlib import Path
from typing import TYPE_CHECKING

from delassus.errors import FileError, SettingsError
from delassus.fem import write_vtu
from delassus.io.place import label, place

if TYPE_CHECKING:
    from delassus.io.recording.trajectory import Trajectory

SERIES = "flexible.pvd"
"""The file to open: the others by their times."""


def write_series(run: "Trajectory", folder: Path, every: int) -> list[Path]:
    """`Trajectory.write_vtu`: the files written, the series first."""
    if not isinstance(every, int) or every < 1:
        raise SettingsError(f"write_vtu: every is {every!r}: give a whole number of steps from 1 on")
    elements = run.elements
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{label(folder)}: cannot be made a directory ({error.strerror}): choose another") from None
    written, lines = [], []
    for k in range(0, run.step_count + 1, every):
        state, path = run.state(k), folder / f"flexible-{k:06d}.vtu"
        points = {"displacement": state.nodes - elements.rest, "velocity": state.node_velocity}
        if k:
            points["contact_force"] = run.contacts(k - 1).node_forces(run.node_count)
        else:
            points["contact_force"] = 0.0 * state.nodes
        write_vtu(path, elements, state.nodes, points, {"von_mises": elements.von_mises(state.nodes)})
        written.append(path)
        lines.append(f'    <DataSet timestep="{float(run.t[k])!r}" part="0" file="{path.name}"/>')
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n  <Collection>'
    series = "\n".join([head, *lines, "  </Collection>", "</VTKFile>", ""])
    place(folder / SERIES, series.encode())
    return [folder / SERIES, *written]
