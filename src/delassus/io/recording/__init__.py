"""Recordings: what a simulation did, step by step, on disk as it runs, and back.

    about = About.of(model, state, settings)
    recorder = Recorder.create("runs/chain", about, model, state)
    recorder.add(state, report, memory)          # every step
    recorder.flush()                             # now and then, and at the end
    recording = Recording("runs/chain")          # arrays by name, contacts by step

A recording is a folder of HDF5 parts, each complete in itself and put in place whole. One growing file was the obvious
choice and was given up: libhdf5 neither survives a disk that fills up nor a process that is killed while it writes, and
in both cases the steps already written are lost with the rest. With parts, they are not.
"""

from delassus.io.problems import problem_file as problem_file
from delassus.io.problems import save_problem as save_problem
from delassus.io.recording.about import About as About
from delassus.io.recording.columns import Columns as Columns
from delassus.io.recording.recorder import Recorder as Recorder
from delassus.io.recording.recording import Recording as Recording
from delassus.io.recording.trajectory import StepContacts as StepContacts
from delassus.io.recording.trajectory import Trajectory as Trajectory
