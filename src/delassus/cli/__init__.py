"""The command line: `main` has the table of commands, each a module or a folder of its name; what they share is in
`command`, `console`, `tables`, `files` and `options`. Commands do not import each other, and no module here may import
NumPy, Numba, SciPy, h5py or Matplotlib before a command runs."""

from delassus.cli.command import Command as Command
